// The npm package `openai`.
import OpenAI, { toFile } from "openai";
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { ResponsesToolRunner, runnerFunction } from "openai/helpers/responses-tool-runner";
import { z } from "zod";
import { assert, check, failing, key, model, url } from "./checks.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout: 120_000 });

const HELLO = "Hello from the scripted model.";
const HELLO_TOKENS = 7;
const PROMPT = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<|say_hello|>";
const fn = (name, ...numbers) => ({
  type: "function",
  function: {
    name, description: `does ${name}`,
    parameters: {
      type: "object", required: numbers, additionalProperties: false,
      properties: Object.fromEntries(numbers.map((number) => [number, { type: "integer" }])),
    },
  },
});
const ADD = fn("add", "a", "b");
const SUB = fn("sub", "c");
const ITEM = { type: "function", strict: true, ...ADD.function };
const said = (content) => [{ role: "user", content }];
const ask = (text, more = {}) => ({ model: model("scripted"), messages: said(text), ...more });
const respond = (input, more = {}) => ({ model: model("scripted"), input, ...more });
const all = async (pages) => { const found = []; for await (const one of pages) found.push(one); return found; };
const counts = (usage) => [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
const near = (one, other, most = 1e-4) => one.length === other.length && one.every((value, at) => Math.abs(value - other[at]) < most);
const refused = async (kind, promise) => {
  const error = await failing(promise);
  assert.equal(error.constructor.name, kind, String(error));
  return error;
};
const until = async (over, look) => {
  for (let tries = 0; tries < 4000; tries += 1) {
    const found = await look();
    if (over(found)) return found;
  }
  throw new Error("it did not end");
};

// Chats that are text.

await check("a_chat_answers_with_text_and_usage", async () => {
  const got = await client.chat.completions.create({
    model: model("chat"), messages: said("Say hello."), max_tokens: 12,
  });
  assert.ok(got.choices[0].message.content);
  assert.equal(got.usage.total_tokens, got.usage.prompt_tokens + got.usage.completion_tokens);
});

await check("a_chat_says_exactly_what_the_model_says", async () => {
  const got = await client.chat.completions.create(ask("hi"));
  assert.deepEqual([got.object, got.model], ["chat.completion", model("scripted")]);
  assert.equal(got.choices[0].message.content, HELLO);
  assert.equal(got.choices[0].finish_reason, "stop");
  assert.equal(got.usage.completion_tokens, HELLO_TOKENS);
  assert.match(got._request_id, /^plm-/);
});

await check("a_stream_brings_the_same_text_and_usage", async () => {
  const whole = await client.chat.completions.create(ask("hi"));
  const chunks = await all(await client.chat.completions.create(ask("hi", { stream: true, stream_options: { include_usage: true } })));
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), HELLO);
  assert.deepEqual(counts(chunks.at(-1).usage), counts(whole.usage));
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  const bare = await all(await client.chat.completions.create(ask("hi", { stream: true })));
  assert.ok(bare.every((chunk) => !chunk.usage && chunk.choices.length === 1));
  assert.equal(bare.at(-1).choices[0].finish_reason, "stop");
});

await check("the_stream_helper_tells_deltas_and_the_whole", async () => {
  const stream = client.chat.completions.stream(ask("hi"));
  const deltas = [];
  stream.on("content.delta", ({ delta }) => deltas.push(delta));
  const final = await stream.finalChatCompletion();
  assert.ok(deltas.length > 1);
  assert.equal(deltas.join(""), HELLO);
  assert.equal(final.choices[0].message.content, HELLO);
  assert.equal(await stream.finalContent(), HELLO);
  assert.equal((await stream.totalUsage()).completion_tokens, 0); // nobody asked for the counts
});

await check("a_stream_may_be_handed_on_as_lines", async () => {
  const first = await client.chat.completions.create(ask("hi", { stream: true }));
  const { ChatCompletionStream } = await import("openai/lib/ChatCompletionStream");
  const again = ChatCompletionStream.fromReadableStream(first.toReadableStream());
  assert.equal(await again.finalContent(), HELLO);
});

await check("limits_and_stop_sequences_end_an_answer", async () => {
  const cut = await client.chat.completions.create(ask("long", { max_completion_tokens: 5 }));
  assert.deepEqual([cut.choices[0].finish_reason, cut.usage.completion_tokens], ["length", 5]);
  const stopped = await client.chat.completions.create(ask("hi", { stop: ["x", " model"] }));
  assert.deepEqual([stopped.choices[0].finish_reason, stopped.choices[0].message.content], ["stop", "Hello from the scripted"]);
});

await check("several_choices_are_numbered", async () => {
  const got = await client.chat.completions.create(ask("hi", { n: 2 }));
  assert.deepEqual(got.choices.map((choice) => [choice.index, choice.message.content]), [[0, HELLO], [1, HELLO]]);
  const streamed = await client.chat.completions.stream(ask("hi", { n: 2 })).finalChatCompletion();
  assert.deepEqual(streamed.choices.map((choice) => [choice.index, choice.message.content]), [[0, HELLO], [1, HELLO]]);
});

await check("log_probabilities_are_told", async () => {
  const got = await client.chat.completions.create({ model: model("chat"), messages: said("Say hello."), max_tokens: 3, temperature: 0, logprobs: true, top_logprobs: 2 });
  const told = got.choices[0].logprobs.content;
  assert.equal(told.length, 3);
  assert.ok(told.every((one) => one.logprob <= 0 && one.top_logprobs.length === 2 && one.top_logprobs[0].token === one.token));
});

await check("reasoning_is_apart_from_the_answer", async () => {
  const { message } = (await client.chat.completions.create(ask("think"))).choices[0];
  assert.equal(message.content.trim(), "Thought through!");
  assert.equal(message.reasoning_content.trim(), "The user wants thought.");
  const silent = await client.chat.completions.create(ask("think", { reasoning_effort: "none" }));
  assert.equal(silent.choices[0].message.content.trim(), "Thought through!");
});

await check("an_aborted_stream_frees_its_place", async () => {
  for (let round = 0; round < 3; round += 1) {
    const stream = await client.chat.completions.create(ask("long", { stream: true }));
    for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
    assert.ok(stream.controller.signal.aborted);
  }
  const helper = client.chat.completions.stream(ask("long"));
  helper.on("content.delta", () => helper.abort());
  await refused("APIUserAbortError", helper.done());
  const got = await client.chat.completions.create(ask("hi"), { timeout: 20_000 });
  assert.equal(got.choices[0].message.content, HELLO);
});

await check("a_client_that_gives_up_frees_its_place", async () => {
  await refused("APIConnectionTimeoutError", client.chat.completions.create(ask("long"), { timeout: 400 }));
  const controller = new AbortController();
  const left = client.chat.completions.create(ask("long"), { signal: controller.signal });
  setTimeout(() => controller.abort(), 100);
  await refused("APIUserAbortError", left);
  const got = await client.chat.completions.create(ask("hi"), { timeout: 20_000 });
  assert.equal(got.choices[0].message.content, HELLO);
});

await check("the_raw_response_shows_headers", async () => {
  const { data, response, request_id: id } = await client.chat.completions.create(ask("hi", { verbosity: "low" })).withResponse();
  assert.equal(data.choices[0].message.content, HELLO);
  assert.match(id, /^plm-/);
  for (const name of ["x-request-id", "request-id", "x-blazar-trace-id"]) assert.equal(response.headers.get(name), id);
  assert.match(response.headers.get("x-blazar-warning"), /'verbosity'/);
  const raw = await client.chat.completions.create(ask("hi", { stream: true })).asResponse();
  assert.match(raw.headers.get("content-type"), /^text\/event-stream/);
  assert.ok((await raw.text()).trimEnd().endsWith("data: [DONE]"));
});

await check("any_script_survives", async () => {
  const text = "Grüße, 世界! 👩‍👩‍👧";
  const form = { response_format: { type: "gbnf", grammar: `root ::= "${text}"` } };
  const stream = client.chat.completions.stream({ model: model("scripted"), messages: said(text), max_tokens: 90, ...form });
  assert.equal(await stream.finalContent(), text);
});

await check("ten_at_once_are_all_answered", async () => {
  const got = await Promise.all(Array.from({ length: 10 }, () => client.chat.completions.create(ask("hi"))));
  assert.ok(got.every((one) => one.choices[0].message.content === HELLO));
});

// Tools and forms.

await check("a_tool_call_is_the_same_streamed", async () => {
  const more = { tools: [ADD], max_tokens: 120 };
  const whole = await client.chat.completions.create(ask("add", more));
  const [call] = whole.choices[0].message.tool_calls;
  assert.equal(whole.choices[0].finish_reason, "tool_calls");
  assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)).sort(), ["a", "b"]);
  const stream = client.chat.completions.stream(ask("add", { ...more, stream_options: { include_usage: true } }));
  const pieces = [];
  stream.on("tool_calls.function.arguments.delta", ({ arguments_delta: delta }) => pieces.push(delta));
  const final = await stream.finalChatCompletion();
  assert.ok(pieces.length > 1);
  assert.equal(pieces.join(""), call.function.arguments);
  assert.equal(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  assert.deepEqual(counts(final.usage), counts(whole.usage));
});

await check("every_tool_choice_is_kept", async () => {
  const named = { type: "function", function: { name: "sub" } };
  const choices = [
    ["none", []], ["auto", null], ["required", null], [named, ["sub"]],
    [{ type: "allowed_tools", allowed_tools: { mode: "auto", tools: [named] } }, ["sub"]],
    [{ type: "allowed_tools", allowed_tools: { mode: "required", tools: [named] } }, ["sub"]],
  ];
  for (const [choice, names] of choices) {
    const got = await client.chat.completions.create(ask("add", { tools: [ADD, SUB], tool_choice: choice, max_tokens: 120 }));
    const called = (got.choices[0].message.tool_calls ?? []).map((call) => call.function.name);
    if (names) assert.deepEqual(called, names);
    else assert.equal(called.length, 1);
  }
});

await check("parallel_calls_are_told_apart", async () => {
  const tool = { type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } } };
  const more = { tools: [tool], parallel_tool_calls: true };
  const whole = await client.chat.completions.create(ask("call twice", more));
  const streamed = await client.chat.completions.stream(ask("call twice", more)).finalChatCompletion();
  for (const got of [whole, streamed]) {
    const calls = got.choices[0].message.tool_calls;
    assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments).city), ["Paris", "Rome"]);
    assert.notEqual(calls[0].id, calls[1].id);
  }
});

const runnable = (ran) => ({
  type: "function",
  function: {
    ...ADD.function, parse: JSON.parse,
    function: (given) => { ran.push(given); return "3"; },
  },
});

await check("the_tool_runner_comes_to_its_end", async () => {
  const ran = [];
  const runner = client.chat.completions.runTools(ask("add", { tools: [runnable(ran)] }));
  assert.equal(await runner.finalContent(), HELLO);
  assert.deepEqual(runner.messages.map((message) => message.role), ["user", "assistant", "tool", "assistant"]);
  assert.deepEqual(Object.keys(ran[0]).sort(), ["a", "b"]);
  assert.equal((await runner.totalUsage()).completion_tokens > HELLO_TOKENS, true);
});

await check("the_tool_runner_streams", async () => {
  const ran = [];
  const runner = client.chat.completions.runTools(ask("add", { stream: true, tools: [runnable(ran)] }));
  const text = [];
  runner.on("content", (delta) => text.push(delta));
  assert.equal(await runner.finalContent(), HELLO);
  assert.equal(text.join(""), HELLO);
  assert.equal(ran.length, 1);
});

await check("a_zod_tool_is_parsed", async () => {
  const tool = zodFunction({ name: "query", parameters: z.object({ table: z.string(), limit: z.number().int() }) });
  const got = await client.chat.completions.parse(ask("look", { tools: [tool], max_tokens: 200 }));
  const [call] = got.choices[0].message.tool_calls;
  assert.equal(typeof call.function.parsed_arguments.limit, "number");
});

const PLAN = z.object({ title: z.string(), steps: z.array(z.object({ say: z.string() })), kind: z.enum(["red", "blue"]), done: z.boolean().nullable() });

await check("a_zod_form_is_parsed", async () => {
  const got = await client.chat.completions.parse(ask("hi", { response_format: zodResponseFormat(PLAN, "plan"), max_tokens: 200 }));
  assert.ok(PLAN.safeParse(got.choices[0].message.parsed).success);
  const stream = client.chat.completions.stream(ask("hi", { response_format: zodResponseFormat(PLAN, "plan"), max_tokens: 200 }));
  const [choice] = (await stream.finalChatCompletion()).choices;
  assert.deepEqual(choice.message.parsed, got.choices[0].message.parsed);
});

await check("every_form_has_its_receipt", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  const forms = {
    json_object: { type: "json_object" },
    json_schema: { type: "json_schema", json_schema: { name: "n", strict: true, schema } },
    gbnf: { type: "gbnf", grammar: 'root ::= "yes" | "no"' },
  };
  for (const [receipt, form] of Object.entries(forms)) {
    const { data, response } = await client.chat.completions.create(ask("hi", { response_format: form, max_tokens: 80 })).withResponse();
    assert.equal(response.headers.get("x-blazar-structured-output"), receipt);
    const text = data.choices[0].message.content;
    if (receipt === "gbnf") assert.ok(["yes", "no"].includes(text));
    else assert.equal(typeof JSON.parse(text), "object");
  }
  const { response } = await client.chat.completions.create(ask("hi", { response_format: { type: "text" } })).withResponse();
  assert.equal(response.headers.get("x-blazar-structured-output"), null);
});

await check("an_answer_that_is_cut_is_not_parsed", async () => {
  await refused("LengthFinishReasonError", client.chat.completions.parse(ask("hi", { response_format: zodResponseFormat(PLAN, "plan"), max_tokens: 3 })));
});

// Raw completions, vectors, models.

await check("a_completion_is_the_same_streamed", async () => {
  const body = { model: model("scripted"), prompt: PROMPT, max_tokens: 20 };
  const whole = await client.completions.create(body);
  assert.deepEqual([whole.choices[0].text, whole.usage.completion_tokens], [HELLO, HELLO_TOKENS]);
  const chunks = await all(await client.completions.create({ ...body, stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.text ?? "").join(""), HELLO);
  assert.deepEqual(counts(chunks.at(-1).usage), counts(whole.usage));
});

await check("prompts_may_be_several_and_have_a_suffix", async () => {
  const two = await client.completions.create({ model: model("scripted"), prompt: [PROMPT, PROMPT], max_tokens: 20 });
  assert.deepEqual(two.choices.map((choice) => [choice.index, choice.text]), [[0, HELLO], [1, HELLO]]);
  const filled = await client.completions.create({ model: model("scripted"), prompt: "def f():\n    ", suffix: "\n", max_tokens: 9 });
  assert.equal(filled.choices[0].text, "return 42");
  const body = { model: model("scripted"), prompt: PROMPT, max_tokens: 20, echo: true };
  assert.equal((await client.completions.create(body)).choices[0].text, PROMPT + HELLO);
  const error = await refused("BadRequestError", client.completions.create({ ...body, logprobs: 1 }));
  assert.equal(error.param, "logprobs");
});

await check("vectors_are_the_same_in_both_encodings", async () => {
  const body = { model: model("embed"), input: ["a cat", "a dog"] };
  const packed = await client.embeddings.create(body);
  const plain = await client.embeddings.create({ ...body, encoding_format: "float" });
  const text = await client.embeddings.create({ ...body, encoding_format: "base64" });
  assert.deepEqual(packed.data.map((row) => row.index), [0, 1]);
  assert.equal(typeof text.data[0].embedding, "string");
  packed.data.forEach((row, at) => assert.ok(near(row.embedding, plain.data[at].embedding)));
  const short = await client.embeddings.create({ model: model("embed"), input: "a cat", dimensions: 32 });
  assert.equal(short.data[0].embedding.length, 32);
});

await check("what_a_vector_cannot_be_made_of_is_named", async () => {
  const asks = { input: { input: [] }, dimensions: { input: "a", dimensions: 100_000 } };
  for (const [param, more] of Object.entries(asks)) {
    const error = await refused("BadRequestError", client.embeddings.create({ model: model("embed"), ...more }));
    assert.deepEqual([error.param, error.code, error.status], [param, 400, 400]);
  }
  const error = await refused("BadRequestError", client.embeddings.create({ model: model("chat"), input: "a" }));
  assert.match(error.message, /not an embedding model/);
});

await check("models_are_listed_and_found", async () => {
  const names = (await all(client.models.list())).map((one) => one.id);
  for (const role of ["chat", "scripted", "embed"]) {
    assert.ok(names.includes(model(role)));
    assert.equal((await client.models.retrieve(model(role))).id, model(role));
  }
  await refused("NotFoundError", client.models.retrieve("no-such-model"));
});

// Responses.

await check("a_response_has_text_status_and_usage", async () => {
  const got = await client.responses.create(respond("hi", { instructions: "Be brief.", metadata: { a: "b" } }));
  assert.deepEqual([got.object, got.status, got.output_text, got.metadata], ["response", "completed", HELLO, { a: "b" }]);
  assert.equal(got.usage.output_tokens, HELLO_TOKENS);
  const cut = await client.responses.create(respond("long", { max_output_tokens: 4 }));
  assert.deepEqual([cut.status, cut.incomplete_details.reason], ["incomplete", "max_output_tokens"]);
});

await check("a_response_is_streamed_by_the_helper", async () => {
  const stream = client.responses.stream(respond("hi"));
  const events = await all(stream);
  const final = await stream.finalResponse();
  assert.equal(events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta).join(""), HELLO);
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, at) => at));
  assert.deepEqual([events[0].type, events.at(-1).type], ["response.created", "response.completed"]);
  assert.deepEqual([final.output_text, final.usage.output_tokens], [HELLO, HELLO_TOKENS]);
});

await check("a_response_is_kept_and_gone_on_from", async () => {
  const first = await client.responses.create(respond("hi"));
  const second = await client.responses.create(respond("again", { previous_response_id: first.id }));
  assert.equal((await client.responses.retrieve(second.id)).output_text, HELLO);
  const items = await all(client.responses.inputItems.list(second.id, { order: "asc", limit: 2 }));
  assert.deepEqual(items.map((item) => item.role), ["user", "assistant", "user"]);
  await client.responses.delete(first.id);
  const error = await refused("NotFoundError", client.responses.retrieve(first.id));
  assert.match(error.message, new RegExp(first.id));
});

await check("a_response_in_the_background_ends_or_is_cancelled", async () => {
  const made = await client.responses.create(respond("hi", { background: true }));
  const done = await until((one) => !["queued", "in_progress"].includes(one.status), () => client.responses.retrieve(made.id));
  assert.deepEqual([done.status, done.output_text], ["completed", HELLO]);
  const events = await all(await client.responses.retrieve(made.id, { stream: true, starting_after: 1 }));
  assert.deepEqual([events[0].sequence_number, events.at(-1).type], [2, "response.completed"]);
  const long = await client.responses.create(respond("long", { background: true }));
  assert.equal((await client.responses.cancel(long.id)).status, "cancelled");
  const other = await client.responses.create(respond("hi"));
  await refused("BadRequestError", client.responses.cancel(other.id));
});

await check("a_functions_result_goes_on", async () => {
  const made = await client.responses.create(respond("add", { tools: [ITEM] }));
  const [call] = made.output.filter((item) => item.type === "function_call");
  const result = { type: "function_call_output", call_id: call.call_id, output: "3" };
  const after = await client.responses.create(respond([result], { tools: [ITEM], previous_response_id: made.id }));
  const byHand = await client.responses.create(respond([{ role: "user", content: "add" }, ...made.output, result], { tools: [ITEM], store: false }));
  assert.deepEqual([after.output_text, byHand.output_text], [HELLO, HELLO]);
  assert.equal(after.usage.input_tokens, byHand.usage.input_tokens);
});

await check("the_responses_tool_runner_comes_to_its_end", async () => {
  const ran = [];
  const tool = zodResponsesFunction({
    name: "add", parameters: z.object({ a: z.number().int(), b: z.number().int() }),
    function: async (given) => { ran.push(given); return "3"; },
  });
  for (const stream of [false, true]) {
    const runner = new ResponsesToolRunner({ functions: [runnerFunction(tool)] });
    const final = await runner.run(client, respond("add"), { maxSteps: 4, stream });
    assert.equal(final.output_text, HELLO);
  }
  assert.deepEqual(ran.map((given) => Object.keys(given).sort()), [["a", "b"], ["a", "b"]]);
});

await check("tools_that_run_elsewhere_are_named_in_a_warning", async () => {
  const { data, response } = await client.responses.create(respond("add", { tools: [{ type: "web_search" }, ITEM] })).withResponse();
  assert.match(response.headers.get("x-blazar-warning"), /tools\[0\]/);
  assert.equal(data.output[0].name, "add");
});

await check("a_zod_text_format_is_parsed", async () => {
  const got = await client.responses.parse(respond("hi", { text: { format: zodTextFormat(PLAN, "plan") } }));
  assert.ok(PLAN.safeParse(got.output_parsed).success);
  const final = await client.responses.stream(respond("hi", { text: { format: zodTextFormat(PLAN, "plan") } })).finalResponse();
  assert.deepEqual(final.output_parsed, got.output_parsed);
});

await check("thoughts_are_items_before_the_message", async () => {
  const whole = await client.responses.create(respond("think"));
  const streamed = await client.responses.stream(respond("think")).finalResponse();
  for (const got of [whole, streamed]) {
    assert.deepEqual(got.output.map((item) => item.type), ["reasoning", "message"]);
    assert.ok(got.usage.output_tokens_details.reasoning_tokens > 0);
  }
});

// What is kept.

await check("a_stored_chat_has_a_life", async () => {
  const metadata = { what: `npm ${Date.now()}` };
  const made = await client.chat.completions.create(ask("hi", { store: true, metadata }));
  const listed = await all(client.chat.completions.list({ metadata }));
  assert.deepEqual(listed.map((one) => one.id), [made.id]);
  const messages = await all(client.chat.completions.messages.list(made.id));
  assert.deepEqual(messages.map((one) => [one.role, one.content]), [["user", "hi"]]);
  assert.deepEqual((await client.chat.completions.update(made.id, { metadata: { what: "else" } })).metadata, { what: "else" });
  assert.ok((await client.chat.completions.delete(made.id)).deleted);
  await refused("NotFoundError", client.chat.completions.retrieve(made.id));
});

await check("a_file_has_a_life", async () => {
  const made = await client.files.create({ file: await toFile(Buffer.from("é\r\n\0"), "é notes.txt"), purpose: "user_data" });
  assert.deepEqual([made.filename, made.bytes, made.purpose], ["é notes.txt", 5, "user_data"]);
  assert.ok((await all(client.files.list({ purpose: "user_data", limit: 1 }))).some((file) => file.id === made.id));
  assert.equal(await (await client.files.content(made.id)).text(), "é\r\n\0");
  assert.equal((await client.files.waitForProcessing(made.id, { pollInterval: 10 })).id, made.id);
  assert.ok((await client.files.delete(made.id)).deleted);
  await refused("NotFoundError", client.files.retrieve(made.id));
});

const batched = async (...bodies) => {
  const lines = bodies.map((body, at) => JSON.stringify({ custom_id: `r${at}`, method: "POST", url: "/v1/chat/completions", body }));
  const file = await client.files.create({ file: await toFile(Buffer.from(lines.join("\n")), "a.jsonl"), purpose: "batch" });
  return client.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
};
const ended = (id) => until((batch) => ["completed", "failed", "cancelled"].includes(batch.status), () => client.batches.retrieve(id));
const lines = async (file) => (file ? (await (await client.files.content(file)).text()).trim().split("\n").map((line) => JSON.parse(line)) : []);

await check("a_batch_is_answered_or_cancelled", async () => {
  const done = await ended((await batched(ask("hi"), { ...ask("hi"), model: "no-such-model" })).id);
  assert.deepEqual([done.status, done.request_counts], ["completed", { total: 2, completed: 1, failed: 1 }]);
  const [answer] = await lines(done.output_file_id);
  assert.equal(answer.response.body.choices[0].message.content, HELLO);
  assert.equal((await lines(done.error_file_id))[0].response.status_code, 404);
  const long = await batched(...Array.from({ length: 30 }, () => ask("long", { max_tokens: 1500 })));
  assert.ok(["cancelling", "cancelled"].includes((await client.batches.cancel(long.id)).status));
  assert.equal((await ended(long.id)).status, "cancelled");
});

// What it throws.

await check("an_unknown_model_is_not_found", async () => {
  for (const stream of [false, true]) {
    const error = await refused("NotFoundError", client.chat.completions.create(ask("hi", { model: "no-such-model", stream })));
    assert.deepEqual([error.status, error.code, error.param, error.type], [404, 404, "model", "blazar_error"]);
    assert.match(error.requestID, /^plm-/);
  }
});

await check("a_field_that_cannot_be_is_named", async () => {
  const asks = { n: { n: 0 }, stop: { stop: 5 }, temperature: { temperature: "warm" }, tool_choice: { tools: [ADD], tool_choice: { type: "function", function: { name: "nobody" } } }, messages: { messages: [] } };
  for (const [param, more] of Object.entries(asks)) {
    const error = await refused("BadRequestError", client.chat.completions.create(ask("hi", more)));
    assert.equal(error.param, param);
  }
});

await check("what_a_model_cannot_do_is_refused", async () => {
  const error = await refused("BadRequestError", client.chat.completions.create(ask("hi", { model: model("embed") })));
  assert.match(error.message, /\/v1\/embeddings/);
  const tools = await refused("BadRequestError", client.chat.completions.create(ask("hi", { model: model("chat"), tools: [ADD] })));
  assert.equal(tools.param, "tools");
});

await check("an_error_within_a_stream_is_thrown", async () => {
  const soothe = () => client.chat.completions.create(ask("hi", { model: model("played") }));
  await soothe();
  const stream = client.chat.completions.create(ask("play error", { model: model("played"), stream: true }));
  const error = await refused("APIError", stream.then(all));
  assert.match(error.message, /does not match the expected/);
  await soothe();
});
