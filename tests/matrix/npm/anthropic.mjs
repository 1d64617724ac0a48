// The npm package `@anthropic-ai/sdk`.
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import { assert, check, failing, key, model, url } from "./checks.mjs";

const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, timeout: 120_000 });

const HELLO = "Hello from the scripted model.";
const ADD = {
  name: "add", description: "add two numbers",
  input_schema: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] },
};
const THINKING = { type: "enabled", budget_tokens: 1024 };
const said = (text) => [{ role: "user", content: text }];
const scripted = (text, more = {}) => ({ model: model("scripted"), max_tokens: 80, messages: said(text), ...more });
const kinds = (message) => message.content.map((block) => block.type);

// Text.

await check("a_message_is_text_with_usage", async () => {
  const got = await client.messages.create({ model: model("chat"), max_tokens: 12, system: "Be brief.", messages: said("Say hello.") });
  assert.deepEqual([got.type, got.role, got.model], ["message", "assistant", model("chat")]);
  assert.ok(got.content[0].text);
  assert.ok(got.usage.input_tokens > 0 && got.usage.output_tokens > 0);
  assert.deepEqual([got.usage.cache_creation_input_tokens, got.usage.cache_read_input_tokens], [0, 0]);
});

await check("the_answer_ends_at_max_tokens", async () => {
  const got = await client.messages.create(scripted("long", { max_tokens: 4 }));
  assert.equal(got.content[0].text.trim(), "tick tock tick tock");
  assert.deepEqual([got.stop_reason, got.usage.output_tokens], ["max_tokens", 4]);
});

await check("a_stop_sequence_is_named", async () => {
  const got = await client.messages.create(scripted("long", { stop_sequences: ["tock"] }));
  assert.deepEqual([got.stop_reason, got.stop_sequence], ["stop_sequence", "tock"]);
  assert.equal(got.content[0].text.trim(), "tick");
});

await check("system_blocks_and_a_document_are_read", async () => {
  const source = { type: "text", media_type: "text/plain", data: "What a long day." };
  const got = await client.messages.create({
    model: model("scripted"), max_tokens: 2,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: [{ type: "document", source }, { type: "text", text: "Read." }] }],
  });
  assert.ok(got.content[0].text.startsWith("tick"));
});

await check("null_fields_are_absent_ones", async () => {
  const { data, response } = await client.messages
    .create(scripted("Hi", { system: null, tools: null, stop_sequences: null, thinking: null })).withResponse();
  assert.equal(data.content[0].text, HELLO);
  assert.equal(response.headers.get("x-blazar-warning"), null);
});

await check("an_answer_has_its_request_id", async () => {
  const { data, response, request_id } = await client.messages.create(scripted("Hi")).withResponse();
  assert.ok(request_id);
  assert.equal(response.headers.get("request-id"), request_id);
  assert.equal(data._request_id, request_id);
});

// Streams.

await check("the_stream_helper_tells_text_and_message", async () => {
  const stream = client.messages.stream(scripted("Hi"));
  const pieces = [];
  let snapshot = "";
  stream.on("text", (piece, whole) => { pieces.push(piece); snapshot = whole; });
  const final = await stream.finalMessage();
  assert.ok(pieces.length > 2);
  assert.equal(pieces.join(""), HELLO);
  assert.equal(snapshot, HELLO);
  assert.equal(final.content[0].text, HELLO);
  assert.equal(await stream.finalText(), HELLO);
  assert.equal(final.stop_reason, "end_turn");
});

await check("plain_events_come_in_order", async () => {
  const seen = [];
  let last;
  for await (const event of await client.messages.create(scripted("Hi", { stream: true }))) {
    if (event.type !== "ping") seen.push(event.type);
    if (event.type === "message_delta") last = event;
  }
  assert.deepEqual(seen.slice(0, 2), ["message_start", "content_block_start"]);
  assert.deepEqual(seen.slice(-3), ["content_block_stop", "message_delta", "message_stop"]);
  assert.deepEqual([...new Set(seen.slice(2, -3))], ["content_block_delta"]);
  assert.equal(last.delta.stop_reason, "end_turn");
  assert.ok(last.usage.output_tokens > 0);
});

await check("usage_is_the_same_in_a_stream", async () => {
  const whole = await client.messages.create(scripted("add", { tools: [ADD] }));
  const streamed = await client.messages.stream(scripted("add", { tools: [ADD] })).finalMessage();
  assert.equal(streamed.usage.input_tokens, whole.usage.input_tokens);
  assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
});

await check("a_stream_can_be_aborted", async () => {
  const stream = client.messages.stream(scripted("long", { max_tokens: 50_000 }));
  stream.on("text", () => stream.abort());
  const error = await failing(stream.done());
  assert.ok(error instanceof Anthropic.APIUserAbortError);
  assert.ok(stream.aborted);
  assert.equal((await client.messages.create(scripted("long", { max_tokens: 2 }))).usage.output_tokens, 2);
});

await check("eight_at_once_all_get_their_answer", async () => {
  const counts = [1, 2, 3, 4, 5, 6, 7, 8];
  const got = await Promise.all(counts.map((count) => client.messages.create(scripted("long", { max_tokens: count }))));
  assert.deepEqual(got.map((one) => one.usage.output_tokens), counts);
});

// Tools.

await check("a_tool_is_used", async () => {
  const got = await client.messages.create(scripted("add", { tools: [ADD], tool_choice: { type: "auto" } }));
  assert.equal(got.stop_reason, "tool_use");
  assert.deepEqual(kinds(got), ["tool_use"]);
  assert.ok(Number.isInteger(got.content[0].input.a) && Number.isInteger(got.content[0].input.b));
});

await check("the_named_tool_of_two_is_used", async () => {
  const other = { name: "other", input_schema: { type: "object", properties: { x: { type: "string" } }, required: ["x"] } };
  for (const name of ["other", "add"]) {
    const got = await client.messages.create(scripted("go", { tools: [ADD, other], tool_choice: { type: "tool", name } }));
    assert.deepEqual(got.content.map((block) => block.name), [name]);
  }
});

await check("no_tool_is_used_where_none_may_be", async () => {
  const got = await client.messages.create({
    model: model("chat"), max_tokens: 8, tools: [ADD], tool_choice: { type: "none" }, messages: said("Add 1 and 2."),
  });
  assert.deepEqual(kinds(got), ["text"]);
});

await check("a_forced_tool_without_a_name_is_refused", async () => {
  const error = await failing(client.messages.create(scripted("x", { tools: [ADD], tool_choice: { type: "tool" } })));
  assert.ok(error instanceof Anthropic.BadRequestError);
  assert.match(error.message, /tool_choice/);
});

await check("a_tools_input_grows_in_the_stream", async () => {
  const stream = client.messages.stream(scripted("add", { tools: [ADD] }));
  const grown = [];
  stream.on("inputJson", (piece) => grown.push(piece));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content[0].input, JSON.parse(grown.join("")));
  assert.ok(Number.isInteger(final.content[0].input.a));
});

await check("results_and_errors_of_tools_are_understood", async () => {
  const calls = [1, 2].map((n) => ({ type: "tool_use", id: `toolu_${n}`, name: "add", input: { a: n, b: 1 } }));
  const results = [
    { type: "tool_result", tool_use_id: "toolu_1", content: "2" },
    { type: "tool_result", tool_use_id: "toolu_2", is_error: true, content: [{ type: "text", text: "overflow" }] },
  ];
  const got = await client.messages.create({
    model: model("scripted"), max_tokens: 40, tools: [ADD],
    messages: [...said("add"), { role: "assistant", content: calls }, { role: "user", content: results }],
  });
  assert.equal(got.content[0].text, HELLO);
});

await check("the_tool_runner_goes_the_whole_way", async () => {
  const calls = [];
  const tool = betaTool({
    name: "add", description: "add", inputSchema: ADD.input_schema,
    run: ({ a, b }) => { calls.push([a, b]); return String(a + b); },
  });
  const last = await client.beta.messages.toolRunner(scripted("add", { tools: [tool] }));
  assert.equal(calls.length, 1);
  assert.equal(last.content[0].text, HELLO);
});

await check("the_tool_runner_streams_with_a_zod_tool", async () => {
  const calls = [];
  const tool = betaZodTool({
    name: "look", description: "look", inputSchema: z.object({ city: z.string(), days: z.number().int() }),
    run: (given) => { calls.push(given); return "rain"; },
  });
  const reasons = [];
  for await (const stream of client.beta.messages.toolRunner(scripted("look", { tools: [tool], stream: true })))
    reasons.push((await stream.finalMessage()).stop_reason);
  assert.deepEqual(reasons, ["tool_use", "end_turn"]);
  assert.equal(typeof calls[0].city, "string");
});

await check("parallel_calls_are_blocks_of_their_own", async () => {
  const tools = [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];
  const asked = { model: model("played"), max_tokens: 200, tools, messages: said("play tool_parallel") };
  const whole = await client.messages.create(asked);
  const streamed = await client.messages.stream(asked).finalMessage();
  for (const got of [whole, streamed])
    assert.deepEqual(got.content.map((block) => block.input), [{ city: "Paris" }, { city: "Rome" }]);
});

// Thinking.

await check("thinking_streams_with_its_signature", async () => {
  const stream = client.messages.stream(scripted("think", { thinking: THINKING, max_tokens: 2000 }));
  const seen = [];
  stream.on("thinking", () => seen.push("thinking"));
  stream.on("signature", () => seen.push("signature"));
  stream.on("text", () => seen.push("text"));
  const final = await stream.finalMessage();
  assert.deepEqual([...new Set(seen)], ["thinking", "signature", "text"]);
  assert.deepEqual(kinds(final), ["thinking", "text"]);
  assert.ok(final.content[0].signature);
});

await check("thoughts_may_be_given_back_with_their_signature", async () => {
  const first = await client.messages.create(scripted("think", { thinking: THINKING, max_tokens: 2000 }));
  const turns = [...said("think"), { role: "assistant", content: first.content }, ...said("think again")];
  const second = await client.messages.create(scripted("", { thinking: THINKING, max_tokens: 2000, messages: turns }));
  assert.deepEqual(kinds(second), ["thinking", "text"]);
});

await check("no_thinking_where_it_is_not_asked_for", async () => {
  for (const more of [{}, { thinking: { type: "disabled" } }])
    assert.deepEqual(kinds(await client.messages.create(scripted("think", more))), ["text"]);
});

// Forms.

await check("parse_gives_what_the_zod_schema_says", async () => {
  const City = z.object({ name: z.string(), people: z.number().int(), tags: z.array(z.string()) });
  const got = await client.messages.parse(scripted("x", { output_config: { format: zodOutputFormat(City) } }));
  assert.deepEqual(Object.keys(got.parsed_output), ["name", "people", "tags"]);
  assert.ok(Number.isInteger(got.parsed_output.people));
});

await check("a_stream_ends_with_a_parsed_object", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  const format = jsonSchemaOutputFormat(schema);
  const final = await client.messages.stream(scripted("x", { output_config: { format } })).finalMessage();
  assert.ok(Number.isInteger(final.parsed_output.n));
});

// Counting, batches, models.

await check("a_count_is_the_calls_own", async () => {
  for (const more of [{}, { tools: [ADD] }, { system: "Be brief." }]) {
    const { max_tokens, ...asked } = scripted("add", more);
    const counted = await client.messages.countTokens(asked);
    const real = await client.messages.create({ ...asked, max_tokens });
    assert.equal(counted.input_tokens, real.usage.input_tokens);
  }
});

await check("a_batch_runs_to_its_results", async () => {
  const params = scripted("Hi");
  const requests = [{ custom_id: "good", params }, { custom_id: "bad", params: { ...params, model: "no-such-model" } }];
  let batch = await client.messages.batches.create({ requests });
  const deadline = Date.now() + 60_000;
  while (batch.processing_status !== "ended") {
    assert.ok(Date.now() < deadline, "the batch does not end");
    await new Promise((resolve) => setTimeout(resolve, 50));
    batch = await client.messages.batches.retrieve(batch.id);
  }
  const results = {};
  for await (const line of await client.messages.batches.results(batch.id)) results[line.custom_id] = line.result;
  const listed = await client.messages.batches.list({ limit: 1 });
  const gone = await client.messages.batches.delete(batch.id);
  assert.deepEqual([batch.request_counts.succeeded, batch.request_counts.errored], [1, 1]);
  assert.equal(results.good.message.content[0].text, HELLO);
  assert.equal(results.bad.error.error.type, "not_found_error");
  assert.equal(listed.data[0].id, batch.id);
  assert.equal(gone.type, "message_batch_deleted");
});

await check("models_are_listed_and_described", async () => {
  const ids = [];
  for await (const row of client.models.list({ limit: 1 })) ids.push(row.id);
  assert.ok(ids.includes(model("chat")) && ids.includes(model("scripted")));
  const one = await client.models.retrieve(model("chat"));
  assert.deepEqual([one.id, one.type], [model("chat"), "model"]);
  assert.ok(Date.parse(one.created_at) > 0);
});

// Errors.

await check("an_unknown_model_is_not_found", async () => {
  const error = await failing(client.messages.create({ model: "no-such-model", max_tokens: 1, messages: said("x") }));
  assert.ok(error instanceof Anthropic.NotFoundError);
  assert.deepEqual([error.status, error.type], [404, "not_found_error"]);
  assert.match(error.message, /no-such-model/);
  assert.equal(error.requestID, error.error.request_id);
});

await check("wrong_fields_are_refused_by_name", async () => {
  const wrong = [["max_tokens", { max_tokens: -1 }], ["messages", { messages: [] }], ["stop_sequences", { stop_sequences: [1] }], ["system", { system: 5 }]];
  for (const [field, more] of wrong) {
    const error = await failing(client.messages.create(scripted("x", more)));
    assert.ok(error instanceof Anthropic.BadRequestError, field);
    assert.equal(error.type, "invalid_request_error");
    assert.ok(error.message.includes(field), error.message);
  }
});

await check("a_picture_for_a_model_that_reads_text_is_refused", async () => {
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  for (const source of [{ type: "base64", media_type: "image/png", data }, { type: "base64" }]) {
    const messages = [{ role: "user", content: [{ type: "image", source }, { type: "text", text: "What is it?" }] }];
    const error = await failing(client.messages.create(scripted("", { messages })));
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.match(error.message, /image|picture/);
  }
});

await check("an_error_in_the_stream_is_thrown", async () => {
  const stream = client.messages.stream({ model: model("played"), max_tokens: 20, messages: said("play error") });
  const error = await failing(stream.finalMessage());
  assert.ok(error instanceof Anthropic.APIError);
  assert.match(error.message, /peg-native/);
});

await check("a_beta_without_effect_is_named_in_a_warning", async () => {
  const { data, response } = await client.beta.messages
    .create(scripted("Hi", { betas: ["computer-use-2025-01-24"] })).withResponse();
  assert.match(response.headers.get("x-blazar-warning"), /computer-use-2025-01-24/);
  assert.equal(data.content[0].text, HELLO);
});
