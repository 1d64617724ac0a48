"""The whole cold shell over small fakes, wrapped as composition wraps it; the hot paths end in a lane that only counts."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from blazar.adapters.http.anthropic.batches import message_batches_blueprint
from blazar.adapters.http.app import create_app
from blazar.adapters.http.asgi import App, Receive, Scope, Send
from blazar.adapters.http.entrance import Entrance
from blazar.adapters.http.lane.runs import Runs
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.layers.order import wrap
from blazar.adapters.http.manage.children import Children, children_blueprint
from blazar.adapters.http.manage.config import ConfigPages, config_blueprint
from blazar.adapters.http.manage.events import EventPages, events_blueprint
from blazar.adapters.http.manage.fit import Fit, fit_blueprint
from blazar.adapters.http.manage.keys import keys_blueprint
from blazar.adapters.http.manage.meta import Meta, meta_blueprint
from blazar.adapters.http.manage.reports import Reports, reports_blueprint
from blazar.adapters.http.manage.why import why_blueprint
from blazar.adapters.http.ollama.blobs import blob_uploads
from blazar.adapters.http.ollama.library import Library, library_blueprint
from blazar.adapters.http.openai.batches import batches_blueprint
from blazar.adapters.http.openai.completions import completions_blueprint
from blazar.adapters.http.openai.files import files_blueprint
from blazar.adapters.http.openai.models import models_blueprint
from blazar.adapters.http.openai.responses import Responses, responses_blueprint
from blazar.adapters.http.openai.uploads import file_uploads
from blazar.adapters.http.routes import ROUTES
from blazar.application.batches.records import row_of
from blazar.application.files.shelf import FileNote
from blazar.application.kept.completions import Completions
from blazar.application.kept.keep_answer import KeepAnswer
from blazar.application.kept.recall_response import RecallResponse
from blazar.application.models.create_model import Created, Wish
from blazar.application.models.pulling import Pulled, Step
from blazar.application.models.pulling import Wish as PullWish
from blazar.application.models.show_model import Beside, Shown
from blazar.application.ops.caller import Caller
from blazar.application.ports.saved import Keeping, Saved
from blazar.application.ports.telemetry import EventFeed, Listening, Told
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain import names, teaching
from blazar.domain.batches import State
from blazar.domain.errors import Conflict, ModelNotFound
from blazar.domain.kinds import Dialect, EngineKind, Provenance, Weights
from blazar.domain.overlay import Overlay
from blazar.domain.records import Engine, Model
from blazar.domain.wire.responses_kept import KeptResponse, packed
from blazar.domain.wire.stored_chat import StoredChat, packed_chat
from tests.fakes.blobs import MemoryBlobs
from tests.fakes.saved import MemorySaved
from tests.support.batching import Batches, a_batch
from tests.support.key_rig import KeyRig, text_of
from tests.unit.adapters.http.asgi_calls import StepClock, doors

SMALL = Model(
    name="smollm2",
    files=("/models/smollm2.gguf",),
    sizes=(98_000_000,),
    weights=Weights.GGUF,
    arch="llama",
    quant="Q4_1",
    parameters=134_515_008,
    ctx_train=8192,
    embedding_length=576,
    pooling=None,
    template=True,
    owned=True,
    digest="c0ffee" * 10 + "abcd",
    imported_at=1_700_000_000.0,
)
EMBEDDER = replace(
    SMALL, name="org/minilm-q8", arch="bert", quant="Q8_0", parameters=22_700_000, pooling=1, template=False
)
ENGINE = Engine("b9000", EngineKind.LLAMACPP, Provenance.ARCHIVE, "/engines/b9000/llama-server", "9000", True, 5.0)
VIEW = InstanceView(
    key="smollm2",
    model="smollm2",
    state="serving",
    engine="b9000",
    provenance="archive",
    pid=4242,
    port=5555,
    ctx=4096,
    slots=1,
    in_flight=0,
    waiting=0,
    size=98_000_000,
    rss=150_000_000,
    expires_at=1_700_000_060.5,
    load_seconds=0.25,
    argv=("llama-server",),
    notes=(),
    last_error="",
)


@dataclass
class Supervision(Supervising):
    """Remembers wishes; `spawns` is what G22 counts."""

    running: list[InstanceView] = field(default_factory=list)
    spawns: list[tuple[str, float | None]] = field(default_factory=list)
    evictions: list[tuple[str, bool]] = field(default_factory=list)
    models: dict[str, Model] = field(default_factory=dict)

    def views(self) -> list[InstanceView]:
        return self.running

    async def load(self, model: str, keep_alive: float | None = None) -> InstanceView:
        if model not in self.models:
            raise ModelNotFound(model, names.near(model, self.models))
        self.spawns.append((model, keep_alive))
        self.running = [VIEW._replace(key=model, model=model)]
        return self.running[0]

    async def evict(self, ref: str, *, force: bool = False, cause: str = "asked") -> list[str]:
        if names.parse_ref(ref).model not in self.models:
            raise ModelNotFound(ref, names.near(ref, self.models))
        self.evictions.append((ref, force))
        return [view.key for view in self.running if view.model == ref]

    def reset(self) -> list[str]:
        return ["crashy"]


def batches_named(id_: str, batches: Batches) -> Batches:
    """With a file and two batches that are over, all of this name: the census asks every row for one thing."""
    batches.kept.files[id_] = b"{}\n"
    batches.shelf.enrol(FileNote(id_, "", "in.jsonl", "batch", 3), 0)
    over: dict[str, Any] = {"id": id_, "state": State.COMPLETED, "expires_at": 1_700_086_400.0}
    over["created_at"] = batches.clock.wall()
    batches.store.add(row_of(a_batch(**over)))
    batches.store.add(row_of(a_batch(**over, dialect=Dialect.ANTHROPIC, endpoint="/v1/messages")))
    return batches


def kept_named(id_: str) -> MemorySaved:
    """A response and a chat completion of this name, both of nobody's key."""
    store = MemorySaved()
    response = {"id": id_, "object": "response", "status": "completed", "background": True, "output": []}
    asked = [{"id": f"msg_{number}", "type": "message"} for number in range(3)]
    body = packed(KeptResponse(response, asked))
    store.add(Saved(Keeping.RESPONSE, id_, "", 5.0, "m", "completed", "{}", body))
    completion = {"id": id_, "object": "chat.completion", "choices": [], "metadata": {"a": "b"}}
    stored = packed_chat(StoredChat(completion, [{"role": "user", "content": "hi"}]))
    store.add(Saved(Keeping.COMPLETION, id_, "", 5.0, "m", "", '{"a":"b"}', stored))
    return store


class EndedFeed(EventFeed, Listening):
    """Tells two events to who listens, and then that there are no more."""

    def __init__(self) -> None:
        self.after: list[int | None] = []
        self.left = 0
        self.pending: list[list[Told]] = []

    def listen(self, after: int | None = None, key: str = "") -> Listening:
        del key
        self.after.append(after)
        self.pending = [[Told(7, 0.5, "loading", {"model": "m"}), Told(8, 1.0, "serving", {"seconds": 0.25})], []]
        return self

    async def next(self, seconds: float) -> list[Told] | None:
        return self.pending.pop(0) if self.pending else None

    def close(self) -> None:
        self.left += 1


class ToldPull:
    """A pull that is over: its steps, None for a silence, an error for its end."""

    def __init__(self, steps: Sequence[Step | Exception | None], pulled: Pulled | None) -> None:
        self.steps, self._pulled, self.waited = list(steps), pulled, list[float]()
        self.left = 0

    @property
    def pulled(self) -> Pulled | None:
        return self._pulled

    async def next(self, seconds: float = math.inf) -> Step | None:
        self.waited.append(seconds)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        self.left += 1


class Parts:
    """A gateway and everything a test may want to look at."""

    def __init__(self, *models: Model, layers: Doors | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.models = {model.name: model for model in models}
        self.metadata = metadata or {}
        self.projector = Beside()
        self.supervising = Supervision(models=self.models)
        self.clock = StepClock()
        self.doors = layers or doors(clock=self.clock)
        self.batches = batches_named("smollm2", Batches(self.clock))
        self.kept = kept_named("smollm2")
        self.runs = Runs(KeepAnswer(self.kept, self.clock), self.clock)
        self.lane: list[str] = []
        self.blobs = MemoryBlobs()
        self.wishes: list[Wish] = []
        self.caught_up: list[str] = []
        self.pulls: list[PullWish] = []
        self.pull = ToldPull([Step("pulling manifest"), Step("success")], Pulled(SMALL, fresh=False))
        self.overlay = Overlay()
        self.removed: list[tuple[str, bool]] = []
        self.fitted: list[dict[str, Any]] = []
        self.feed = EndedFeed()
        self.standing: list[Told] = []
        self.scrub: Callable[[str], str] = str
        self.stories: list[dict[str, Any]] = []
        self.broken: Exception | None = None
        self.keys = KeyRig(text_of(self.doors.keys))
        self.quart = create_app(self.blueprints())
        entrance = Entrance()
        entrance.open(self._hot(file_uploads(blob_uploads(self.quart, self.blobs), self.batches.shelf)))
        self.app: App = wrap(entrance, self.doors)

    async def survey(self) -> list[tuple[Model, str, str]]:
        return [(model, "fits", "llamacpp") for model in self.list_models()]

    def blueprints(self) -> list[Any]:
        library = Library(
            list_models=self.list_models,
            show_model=self.show,
            remove_model=self.remove,
            copy_model=self.copied,
            create_model=self.create,
            has_blob=self.blobs.has,
            join_pull=self.join,
            hub="https://hub",
            catch_up=self.catch_up,
            survey=self.survey,
        )
        return [
            meta_blueprint(Meta(self.clock, self.doors.meter, "9.9.9", self.list_models)),
            children_blueprint(Children(supervising=self.supervising, list_models=self.list_models, clock=self.clock)),
            reports_blueprint(Reports(explain=self.explain, diagnose=self.diagnose, list_engines=lambda: [ENGINE])),
            fit_blueprint(Fit(self.fit, lambda: ())),
            events_blueprint(EventPages(self.feed, lambda: self.standing, lambda: self.scrub)),
            why_blueprint(self.why),
            keys_blueprint(self.keys.manage),
            config_blueprint(ConfigPages(lambda: {"path": "config.toml", "values": {"port": 11435}})),
            models_blueprint(self.list_models),
            responses_blueprint(Responses(RecallResponse(self.kept, self.runs.running), self.runs)),
            completions_blueprint(Completions(self.kept)),
            files_blueprint(self.batches.shelf),
            batches_blueprint(self.batches.manage),
            message_batches_blueprint(self.batches.manage),
            library_blueprint(library),
        ]

    def _hot(self, app: Any) -> App:
        paths = {(route.method, route.path) for route in ROUTES if route.lane}

        def hot(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            if (scope.get("method"), scope["path"]) in paths:
                self.lane.append(scope["path"])
                return send({"type": "http.response.start", "status": 200, "headers": []})
            handed_on: Awaitable[None] = app(scope, receive, send)
            return handed_on

        return hot

    def why(self, trace: str = "", model: str = "", limit: int = 20, key: str | None = None) -> dict[str, Any]:
        return {"requests": self.stories}

    def list_models(self) -> list[Model]:
        if self.broken is not None:
            raise self.broken
        return [self.models[name] for name in sorted(self.models)]

    def get(self, name: str) -> Model:
        found = self.models.get(names.resolve(name, self.models))
        if found is None:
            raise ModelNotFound(name, names.near(name, self.models))
        return found

    def show(self, name: str) -> Shown:
        return Shown(self.get(name), self.metadata, self.projector, self.overlay)

    async def remove(self, name: str, *, force: bool = False) -> Model:
        model = self.get(name)
        self.removed.append((model.name, force))
        return self.models.pop(model.name)

    async def copied(self, source: str, target: str, *, overwrite: bool = True) -> Model:
        if target in self.models and not overwrite:
            raise Conflict(teaching.copy_target_taken(target))
        return self.copy(source, target)

    def copy(self, source: str, target: str) -> Model:
        names.check_name(target)
        self.models[target] = replace(self.get(source), name=target)
        return self.models[target]

    async def catch_up(self) -> None:
        self.caught_up.append("delete" if self.removed else "copy")

    async def create(self, wish: Wish) -> Created:
        self.wishes.append(wish)
        model = self.copy(wish.overlay.base, wish.name) if wish.overlay.base else SMALL
        return Created(model, ("using existing layer sha256:1", "writing manifest", "success"), ("num_gpu",))

    def join(self, wish: PullWish) -> ToldPull:
        self.pulls.append(wish)
        return self.pull

    def explain(self, model: str, _: Sequence[object] = ()) -> dict[str, Any]:
        return {"model": self.get(model).name, "argv": ["llama-server"]}

    def fit(self, body: Mapping[str, Any], tenants: Sequence[Tenant], _: Caller) -> dict[str, Any]:
        self.fitted.append(dict(body))
        return {"model": self.get(body.get("model") or body["target"]).name, "take": None}

    async def diagnose(self) -> dict[str, Any]:
        return {
            "sections": [{"name": "SYSTEM", "rows": [{"check": "ram", "status": "ok", "detail": "", "remedy": ""}]}]
        }
