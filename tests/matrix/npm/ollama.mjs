// The npm package `ollama`.
import { Ollama } from "ollama";
import { z } from "zod";
import { assert, check, failing, key, model, url } from "./checks.mjs";

const client = new Ollama({ host: url, headers: { authorization: `Bearer ${key}` } });

const HELLO = "Hello from the scripted model.";
const MADE = "matrix-made-npm";
const FEW = { num_predict: 8, temperature: 0, seed: 1 };
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ADD = {
  type: "function",
  function: {
    name: "add", description: "add two numbers",
    parameters: { type: "object", required: ["a", "b"], properties: { a: { type: "integer" }, b: { type: "integer" } } },
  },
};
const said = (content, more = {}) => [{ role: "user", content, ...more }];
const chat = (text, more = {}) => client.chat({ model: model("scripted"), messages: said(text), ...more });
const generate = (prompt, more = {}) => client.generate({ model: model("scripted"), prompt, ...more });
const close = (one, other) => one.length === other.length && one.every((number, at) => Math.abs(number - other[at]) < 1e-3);

async function all(stream) {
  const lines = [];
  for await (const line of await stream) lines.push(line);
  return lines;
}

/** A model of this name for the length of `work`. */
async function made(request, work) {
  try {
    await client.create({ model: MADE, ...request });
    await work();
  } finally {
    await client.delete({ model: MADE });
  }
}

// Chats.

await check("a_chat_has_text_counts_and_times", async () => {
  const got = await chat("Hi");
  assert.equal(got.message.content, HELLO);
  assert.deepEqual([got.done, got.done_reason, got.eval_count], [true, "stop", 7]);
  assert.ok(got.prompt_eval_count > 0);
  assert.ok(got.total_duration >= got.eval_duration && got.eval_duration > 0);
  assert.ok(Date.parse(got.created_at) > 0);
});

await check("a_chat_streams_as_it_answers_whole", async () => {
  const lines = await all(chat("Hi", { stream: true }));
  assert.equal(lines.map((line) => line.message.content).join(""), HELLO);
  assert.equal(lines.filter((line) => line.done).length, 1);
  assert.deepEqual([lines.at(-1).done_reason, lines.at(-1).eval_count], ["stop", 7]);
});

await check("options_end_the_answer", async () => {
  const cut = await chat("long", { options: { num_predict: 4 } });
  assert.deepEqual([cut.message.content.trim(), cut.done_reason], ["tick tock tick tock", "length"]);
  const stopped = await chat("long", { options: { stop: ["tock"], num_predict: 20 } });
  assert.deepEqual([stopped.message.content.trim(), stopped.done_reason], ["tick", "stop"]);
});

await check("format_json_and_a_zod_schema", async () => {
  const City = z.object({ name: z.string(), people: z.number().int(), tags: z.array(z.string()) });
  const got = await chat("x", { format: z.toJSONSchema(City), options: { num_predict: 100 } });
  assert.ok(City.parse(JSON.parse(got.message.content)));
  const json = await chat("x", { format: "json", options: { num_predict: 60 } });
  assert.equal(typeof JSON.parse(json.message.content), "object");
});

await check("a_schema_is_kept_in_a_stream", async () => {
  const format = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const lines = await all(chat("x", { format, stream: true }));
  assert.ok(Number.isInteger(JSON.parse(lines.map((line) => line.message.content).join("")).n));
});

await check("thoughts_are_a_field_of_their_own", async () => {
  for (const think of [true, "low", "high"]) {
    const got = await chat("think", { think });
    assert.equal(got.message.thinking.trim(), "The user wants thought.");
    assert.equal(got.message.content.trim(), "Thought through!");
  }
  assert.ok(!(await chat("think", { think: false, options: FEW })).message.thinking);
});

await check("thoughts_stream_before_the_text", async () => {
  const lines = await all(chat("think", { think: true, stream: true }));
  const kinds = lines.filter((line) => !line.done).map((line) => (line.message.thinking ? 1 : 0));
  assert.deepEqual(kinds, [...kinds].sort((a, b) => b - a));
  assert.equal(lines.map((line) => line.message.content).join("").trim(), "Thought through!");
});

await check("a_tools_whole_loop", async () => {
  const messages = said("add");
  const first = await client.chat({ model: model("scripted"), messages, tools: [ADD] });
  messages.push(first.message);
  for (const call of first.message.tool_calls) {
    const { a, b } = call.function.arguments;
    assert.ok(Number.isInteger(a) && Number.isInteger(b));
    messages.push({ role: "tool", tool_name: call.function.name, content: String(a + b) });
  }
  const last = await client.chat({ model: model("scripted"), messages, tools: [ADD] });
  assert.equal(last.message.content, HELLO);
});

await check("a_call_streams_in_one_line", async () => {
  const lines = await all(chat("add", { tools: [ADD], stream: true }));
  const calls = lines.flatMap((line) => line.message.tool_calls ?? []);
  assert.deepEqual(calls.map((call) => call.function.name), ["add"]);
  assert.ok(Number.isInteger(calls[0].function.arguments.a));
});

await check("parallel_calls_arrive_both", async () => {
  const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
  const asked = { model: model("played"), messages: said("play tool_parallel"), tools };
  const whole = (await client.chat(asked)).message.tool_calls;
  const streamed = (await all(client.chat({ ...asked, stream: true }))).flatMap((line) => line.message.tool_calls ?? []);
  for (const calls of [whole, streamed])
    assert.deepEqual(calls.map((call) => call.function.arguments), [{ city: "Paris" }, { city: "Rome" }]);
});

await check("a_stream_can_be_aborted", async () => {
  const stream = await chat("long", { stream: true, options: { num_predict: 50_000 } });
  const error = await failing((async () => { for await (const _ of stream) stream.abort(); })());
  assert.equal(error.name, "AbortError");
  assert.equal((await chat("Hi")).message.content, HELLO);
});

await check("all_streams_can_be_aborted_at_once", async () => {
  const streams = await Promise.all([1, 2].map(() => chat("long", { stream: true, options: { num_predict: 50_000 } })));
  const errors = streams.map((stream) => failing(all(stream)));
  client.abort();
  for (const error of await Promise.all(errors)) assert.equal(error.name, "AbortError");
  assert.equal((await chat("Hi")).message.content, HELLO);
});

await check("eight_at_once_all_get_their_answer", async () => {
  const counts = [1, 2, 3, 4, 5, 6, 7, 8];
  const got = await Promise.all(counts.map((count) => chat("long", { options: { num_predict: count } })));
  assert.deepEqual(got.map((one) => one.eval_count), counts);
});

// Prompts.

await check("a_prompt_is_answered_whole_and_streamed", async () => {
  const got = await generate("Hi");
  assert.deepEqual([got.response, got.done_reason, got.eval_count], [HELLO, "stop", 7]);
  const lines = await all(generate("Hi", { stream: true }));
  assert.equal(lines.map((line) => line.response).join(""), HELLO);
  assert.ok(lines.at(-1).context.length > 0);
});

await check("a_raw_prompt_has_no_template", async () => {
  const asked = { model: model("chat"), prompt: "Once upon a time", options: FEW };
  const raw = await client.generate({ ...asked, raw: true });
  assert.ok(raw.prompt_eval_count < (await client.generate(asked)).prompt_eval_count);
});

await check("a_template_and_a_system_of_the_requests_own", async () => {
  const asked = { model: model("chat"), options: FEW };
  const written = await client.generate({ ...asked, prompt: "b", system: "S", template: "({{ .System }})[{{ .Prompt }}] {{ .Response }}" });
  const raw = await client.generate({ ...asked, prompt: "(S)[b] ", raw: true });
  assert.equal(written.prompt_eval_count, raw.prompt_eval_count);
});

await check("a_gap_is_filled", async () => {
  assert.equal((await generate("def f():\n    ", { suffix: "\n" })).response, "return 42");
});

await check("a_context_goes_on", async () => {
  const first = await generate("My name is Zebulon.");
  const second = await generate("And?", { context: first.context });
  assert.ok(second.prompt_eval_count > first.prompt_eval_count);
});

await check("probabilities_are_rows_of_tokens", async () => {
  const got = await chat("Hi", { logprobs: true, top_logprobs: 2 });
  assert.equal(got.logprobs.map((row) => row.token).join(""), HELLO);
  assert.ok(got.logprobs.every((row) => row.logprob <= 0));
  assert.equal(got.logprobs[0].top_logprobs.length, 2); // llama-server has none of tokens that were guessed ahead
});

await check("keep_alive_is_kept_or_sends_away", async () => {
  const loaded = async () => (await client.ps()).models.some((row) => row.model === model("scripted"));
  for (const keep_alive of ["5m", "1h30m", 300, -1]) {
    assert.equal((await generate("", { keep_alive })).done_reason, "load");
    assert.ok(await loaded());
  }
  assert.equal((await generate("", { keep_alive: 0 })).done_reason, "unload");
  assert.ok(!(await loaded()));
});

// Models.

await check("the_version_is_numbers", async () => {
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
});

await check("the_list_and_what_a_model_can_do", async () => {
  const rows = (await client.list()).models;
  const row = rows.find((one) => one.model === model("scripted"));
  assert.ok(row.size > 0 && row.digest && Date.parse(row.modified_at) > 0);
  assert.deepEqual([row.details.format, row.details.family], ["gguf", "llama"]);
  const shown = await client.show({ model: model("scripted") });
  assert.deepEqual([...shown.capabilities].sort(), ["completion", "insert", "thinking", "tools"]);
  assert.equal(shown.model_info["general.architecture"], "llama");
  assert.deepEqual((await client.show({ model: model("embed") })).capabilities, ["embedding"]);
});

await check("ps_tells_what_is_loaded", async () => {
  await generate("", { keep_alive: "10m" });
  const row = (await client.ps()).models.find((one) => one.model === model("scripted"));
  assert.ok(row.size > 0 && row.size_vram >= 0 && Date.parse(row.expires_at) > Date.now());
});

await check("a_copy_answers_and_goes_alone", async () => {
  assert.equal((await client.copy({ source: model("scripted"), destination: "matrix-copy-npm" })).status, "success");
  try {
    const got = await client.chat({ model: "matrix-copy-npm", messages: said("Hi") });
    assert.equal(got.message.content, HELLO);
  } finally {
    assert.equal((await client.delete({ model: "matrix-copy-npm" })).status, "success");
  }
  const names = (await client.list()).models.map((row) => row.model);
  assert.ok(!names.includes("matrix-copy-npm") && names.includes(model("scripted")));
});

await check("a_model_is_made_from_another", async () => {
  const from = model("scripted");
  await made({ from, system: "Be brief and kind.", parameters: { num_predict: 2 } }, async () => {
    const got = await client.chat({ model: MADE, messages: said("long") });
    assert.deepEqual([got.eval_count, got.done_reason], [2, "length"]);
    assert.ok((await client.show({ model: MADE })).modelfile.includes("Be brief and kind."));
  });
});

await check("making_a_model_tells_its_steps", async () => {
  try {
    const steps = await all(client.create({ model: MADE, from: model("scripted"), license: "Free as air.", stream: true }));
    assert.equal(steps.at(-1).status, "success");
    assert.ok((await client.show({ model: MADE })).license.includes("Free as air."));
  } finally {
    await client.delete({ model: MADE });
  }
});

// Vectors.

await check("a_batch_of_texts_is_a_batch_of_vectors", async () => {
  const both = await client.embed({ model: model("embed"), input: ["a cat", "a dog"] });
  const one = await client.embed({ model: model("embed"), input: "a cat" });
  assert.equal(both.embeddings.length, 2);
  assert.ok(close(both.embeddings[0], one.embeddings[0]));
  assert.ok(both.prompt_eval_count > one.prompt_eval_count);
});

await check("dimensions_truncation_and_the_elder_route", async () => {
  const short = await client.embed({ model: model("embed"), input: "a cat", dimensions: 16 });
  assert.equal(short.embeddings[0].length, 16);
  const long = "cat ".repeat(3000);
  assert.equal((await client.embed({ model: model("embed"), input: [long], truncate: true })).embeddings.length, 1);
  assert.equal((await failing(client.embed({ model: model("embed"), input: long, truncate: false }))).status_code, 400);
  const elder = await client.embeddings({ model: model("embed"), prompt: "a cat" });
  assert.ok(elder.embedding.length > 16);
});

// Errors.

await check("an_unknown_model_is_not_found", async () => {
  for (const stream of [false, true]) {
    const error = await failing(client.chat({ model: "no-such-model", messages: said("Hi"), stream }));
    assert.deepEqual([error.name, error.status_code], ["ResponseError", 404]);
    assert.match(error.message, /no-such-model/);
  }
  assert.equal((await failing(client.show({ model: "no-such-model" }))).status_code, 404);
  assert.equal((await failing(client.delete({ model: "no-such-model" }))).status_code, 404);
});

await check("wrong_fields_are_refused_by_name", async () => {
  const wrong = [["options.temperature", { options: { temperature: "hot" } }], ["keep_alive", { keep_alive: "for a while" }], ["format", { format: "yaml" }], ["think", { think: "deeply" }]];
  for (const [field, more] of wrong) {
    const error = await failing(chat("x", more));
    assert.equal(error.status_code, 400, field);
    assert.ok(error.message.includes(field), error.message);
  }
});

await check("pictures_and_vectors_of_the_wrong_model_are_refused", async () => {
  for (const images of [[PIXEL], [new Uint8Array(Buffer.from(PIXEL, "base64"))]]) {
    const error = await failing(client.chat({ model: model("scripted"), messages: said("What is it?", { images }) }));
    assert.equal(error.status_code, 400);
    assert.match(error.message, /image|picture/);
  }
  assert.equal((await failing(client.embed({ model: model("scripted"), input: "a cat" }))).status_code, 400);
  assert.equal((await failing(client.chat({ model: model("embed"), messages: said("Hi") }))).status_code, 400);
});

await check("an_error_in_the_stream_is_thrown", async () => {
  const error = await failing(all(client.chat({ model: model("played"), messages: said("play error"), stream: true })));
  assert.match(error.message, /peg-native/);
});

await check("pushing_is_refused_with_the_reason", async () => {
  const error = await failing(client.push({ model: model("scripted") }));
  assert.deepEqual([error.name, error.status_code], ["ResponseError", 400]);
  assert.ok(error.message);
});
