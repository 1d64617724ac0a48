// The npm package `ai` through its providers: OpenAI (responses and chat), OpenAI-compatible, Anthropic, ollama.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError, cosineSimilarity, embed, embedMany, extractReasoningMiddleware, generateObject, generateText, isStepCount,
  NoObjectGeneratedError, Output, rerank, smoothStream, streamText, tool, ToolLoopAgent, wrapLanguageModel,
} from "ai";
import { createOllama } from "ai-sdk-ollama";
import { z } from "zod";
import { assert, check, failing, key, model, url } from "./checks.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const HELLO = "Hello from the scripted model.", THOUGHT = "The user wants thought.", CONCLUSION = "Thought through!";
const HELLO_TOKENS = 7;
const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: key });
const compatible = createOpenAICompatible({
  name: "gateway", baseURL: `${url}/v1`, apiKey: key, includeUsage: true, supportsStructuredOutputs: true,
});
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: key });
const ollama = createOllama({ baseURL: url, headers: { authorization: `Bearer ${key}` } });

const PROVIDERS = {
  responses: (name) => openai.responses(name),
  chat: (name) => openai.chat(name),
  compatible: (name) => compatible(name),
  anthropic: (name) => anthropic(name),
  ollama: (name) => ollama(name),
};
// Without a summary the Responses API shows no thought, and the provider asks for one only where it knows that the model thinks.
const summaries = { openai: { reasoningSummary: "auto", forceReasoning: true } };
const Person = z.object({ name: z.string(), age: z.number().int() });
const person = { name: "", age: 1 };
const weather = tool({
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `clear over ${city}`,
});
const clock = tool({ description: "The time", inputSchema: z.object({ zone: z.string() }) });
const once = { maxRetries: 0, maxOutputTokens: 256 };

/** What a stream of parts carries: its kinds in order without repeats, its text, its thought. */
async function read(result) {
  const kinds = [];
  let text = "", thought = "", pieces = 0;
  for await (const part of result.stream ?? result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") { text += part.text; pieces += 1; }
    if (part.type === "reasoning-delta") thought += part.text;
    if (kinds.at(-1) !== part.type) kinds.push(part.type);
  }
  return { kinds, text, thought, pieces };
}

const EVERYWHERE = {
  async text_has_usage_and_its_end(ask) {
    const got = await generateText({ ...once, model: ask(), prompt: "hi" });
    assert.equal(got.text, HELLO);
    assert.equal(got.finishReason, "stop");
    assert.equal(got.usage.outputTokens, HELLO_TOKENS);
    assert.equal(got.usage.totalTokens, got.usage.inputTokens + HELLO_TOKENS);
  },
  async a_stream_comes_in_pieces(ask) {
    const whole = await generateText({ ...once, model: ask(), prompt: "hi" });
    const result = streamText({ ...once, model: ask(), prompt: "hi" });
    const { kinds, text, pieces } = await read(result);
    assert.equal(text, HELLO);
    assert.ok(pieces > 2);
    const order = ["text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert.deepEqual(kinds.filter((kind) => order.includes(kind)), order);
    assert.equal(await result.finishReason, "stop");
    const counted = await result.usage;
    assert.deepEqual([counted.inputTokens, counted.outputTokens], [whole.usage.inputTokens, HELLO_TOKENS]);
  },
  async the_limit_of_tokens_ends_with_length(ask) {
    const got = await generateText({ ...once, model: ask(), prompt: "long", maxOutputTokens: 4 });
    assert.equal(got.text.trim(), "tick tock tick tock");
    assert.equal(got.finishReason, "length");
  },
  async a_conversation_with_a_system_message(ask) {
    const alone = await generateText({ ...once, model: ask(), prompt: "hi" });
    const messages = [
      { role: "user", content: "hi" }, { role: "assistant", content: "Yes?" }, { role: "user", content: "think" },
    ];
    const got = await generateText({ ...once, model: ask(), instructions: "Be brief.", messages });
    assert.equal(got.text, CONCLUSION);
    assert.ok(got.usage.inputTokens > alone.usage.inputTokens);
  },
  async thought_comes_apart_from_text(ask) {
    const got = await generateText({ ...once, model: ask(), prompt: "think", reasoning: "high", providerOptions: summaries });
    assert.equal(got.text, CONCLUSION);
    assert.equal(got.reasoningText.trim(), THOUGHT);
  },
  async streamed_thought_ends_before_the_text_begins(ask) {
    const options = { model: ask(), prompt: "think", reasoning: "high", providerOptions: summaries };
    const { kinds, text, thought } = await read(streamText({ ...once, ...options }));
    assert.equal(text, CONCLUSION);
    assert.equal(thought.trim(), THOUGHT);
    assert.ok(kinds.indexOf("reasoning-end") < kinds.indexOf("text-start"));
  },
  async a_tool_loop_ends_in_text(ask) {
    const options = { model: ask(), prompt: "hi", tools: { weather }, stopWhen: isStepCount(4) };
    const got = await generateText({ ...once, ...options });
    assert.deepEqual(got.steps.map((step) => step.finishReason), ["tool-calls", "stop"]);
    const [call] = got.steps[0].toolCalls, [result] = got.steps[0].toolResults;
    assert.deepEqual([call.toolName, call.input, result.output], ["weather", { city: "" }, "clear over "]);
    assert.equal(got.text, HELLO);
  },
  async a_streamed_tool_loop_ends_in_text(ask) {
    const options = { model: ask(), prompt: "hi", tools: { weather }, stopWhen: isStepCount(4) };
    const result = streamText({ ...once, ...options });
    const { kinds, text } = await read(result);
    const order = ["tool-call", "tool-result", "text-start", "finish"];
    assert.deepEqual(kinds.filter((kind) => order.includes(kind)), order);
    assert.equal(text, HELLO);
    assert.equal((await result.steps).length, 2);
  },
  async a_forced_tool_is_called(ask) {
    const options = { model: ask(), prompt: "hi", tools: { weather, clock }, toolChoice: { type: "tool", toolName: "clock" } };
    const got = await generateText({ ...once, ...options });
    assert.deepEqual(got.toolCalls.map((call) => [call.toolName, call.input]), [["clock", { zone: "" }]]);
  },
  async two_calls_of_one_turn_are_both_answered(ask) {
    const options = { model: ask(model("played")), prompt: "play tool_parallel", tools: { get_weather: weather } };
    const result = streamText({ ...once, ...options, stopWhen: isStepCount(4) });
    assert.equal((await read(result)).text, HELLO);
    const [first] = await result.steps;
    assert.deepEqual(first.toolCalls.map((call) => call.input.city), ["Paris", "Rome"]);
    assert.deepEqual(first.toolResults.map((one) => one.output), ["clear over Paris", "clear over Rome"]);
  },
  async an_engine_that_fails_in_the_middle_is_told(ask) {
    const error = await failing(read(streamText({ ...once, model: ask(model("played")), prompt: "play error", onError() {} })));
    assert.match(JSON.stringify(error) + String(error?.message), /output/);
  },
  async an_object_follows_its_schema(ask) {
    const got = await generateText({ ...once, model: ask(), prompt: "hi", output: Output.object({ schema: Person }) });
    assert.deepEqual(got.output, person);
  },
  async patterns_ranges_and_places_of_a_schema_hold(ask) {
    const schema = z.object({
      code: z.string().regex(/^[A-Z]{2}\d{3}$/), size: z.int().min(5).max(20), pair: z.tuple([z.string(), z.number()]),
      kind: z.enum(["x", "y"]), day: z.iso.date(), maybe: z.string().nullable(),
    });
    const got = await generateText({ ...once, model: ask(), prompt: "hi", output: Output.object({ schema }) });
    assert.match(got.output.code, /^[A-Z]{2}\d{3}$/);
  },
  async an_object_is_streamed_in_parts(ask) {
    const result = streamText({ ...once, model: ask(), prompt: "hi", output: Output.object({ schema: Person }) });
    const parts = [];
    for await (const part of result.partialOutputStream) parts.push(part);
    assert.deepEqual(parts.at(-1), person);
    assert.deepEqual(await result.output, person);
  },
  async an_unknown_model_is_told(ask) {
    const error = await failing(generateText({ ...once, model: ask("nosuch"), prompt: "hi" }));
    assert.match(error.message, /model 'nosuch' not found/);
    if (APICallError.isInstance(error)) assert.deepEqual([error.statusCode, error.isRetryable], [404, false]);
  },
};

for (const [provider, make] of Object.entries(PROVIDERS)) {
  for (const [name, run] of Object.entries(EVERYWHERE)) {
    if (provider === "chat" && name.includes("thought")) continue;  // OpenAI's chat API has no field for it
    await check(`${provider}_${name}`, () => run((named) => make(named ?? model("scripted"))));
  }
}

await check("an_enumeration_is_chosen_from", async () => {
  const got = await generateText({
    ...once, model: compatible(model("scripted")), prompt: "hi", output: Output.choice({ options: ["rain", "sun"] }),
  });
  assert.ok(["rain", "sun"].includes(got.output));
});

await check("a_list_of_objects_is_filled", async () => {
  const got = await generateText({
    ...once, model: openai.chat(model("scripted")), prompt: "hi", output: Output.array({ element: Person }),
  });
  assert.ok(Array.isArray(got.output));
});

await check("json_mode_gives_an_object", async () => {
  const got = await generateText({ ...once, model: openai.chat(model("scripted")), prompt: "hi, in JSON", output: Output.json() });
  assert.deepEqual(got.output, {});
});

await check("an_object_that_is_cut_short_is_no_object", async () => {
  const options = { model: openai.chat(model("scripted")), prompt: "hi", schema: Person };
  const error = await failing(generateObject({ ...once, ...options, maxOutputTokens: 3 }));
  assert.ok(NoObjectGeneratedError.isInstance(error));
  assert.equal(error.finishReason, "length");
});

await check("an_agent_goes_through_its_loop", async () => {
  const agent = new ToolLoopAgent({
    ...once, model: openai.responses(model("scripted")), instructions: "Use tools.", tools: { weather },
  });
  const got = await agent.generate({ prompt: "hi" });
  assert.equal(got.text, HELLO);
  assert.equal(got.steps.length, 2);
});

await check("a_tool_that_fails_is_told_to_the_model", async () => {
  const broken = tool({
    description: "Fails", inputSchema: z.object({ city: z.string() }), execute: async () => { throw new Error("no weather"); },
  });
  const got = await generateText({
    ...once, model: anthropic(model("scripted")), prompt: "hi", tools: { broken }, stopWhen: isStepCount(4),
  });
  assert.equal(got.steps[0].content.at(-1).type, "tool-error");
  assert.equal(got.text, HELLO);
});

await check("an_aborted_stream_ends_and_the_next_call_works", async () => {
  const stop = new AbortController();
  const result = streamText({
    ...once, model: openai.chat(model("scripted")), prompt: "long", maxOutputTokens: 4000, abortSignal: stop.signal,
  });
  const kinds = [];
  for await (const part of result.fullStream) {
    kinds.push(part.type);
    if (part.type === "text-delta") stop.abort();
  }
  assert.equal(kinds.at(-1), "abort");
  assert.equal((await generateText({ ...once, model: openai.chat(model("scripted")), prompt: "hi" })).text, HELLO);
});

await check("a_stream_of_an_unknown_model_reports_its_error", async () => {
  let seen;
  const result = streamText({ ...once, model: openai.chat("nosuch"), prompt: "hi", onError: ({ error }) => { seen = error; } });
  await result.consumeStream({ onError: () => {} });
  assert.equal(seen.statusCode, 404);
});

await check("a_bad_request_carries_the_answer", async () => {
  const error = await failing(generateText({
    ...once, model: compatible(model("scripted")), prompt: "hi", providerOptions: { gateway: { response_format: "yaml" } },
  }));
  assert.ok(APICallError.isInstance(error), String(error));
  assert.deepEqual([error.statusCode, error.isRetryable], [400, false]);
  assert.match(JSON.parse(error.responseBody).error.message, /response_format/);
});

await check("a_chat_with_an_embedding_model_is_refused", async () => {
  const error = await failing(generateText({ ...once, model: anthropic(model("embed")), prompt: "hi" }));
  assert.deepEqual([error.statusCode, error.isRetryable], [400, false]);
  assert.match(error.message, /\/v1\/embeddings/);
});

await check("a_picture_for_a_model_of_text_is_refused", async () => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const content = [{ type: "text", text: "What is this?" }, { type: "file", data: png, mediaType: "image/png" }];
  const error = await failing(generateText({ ...once, model: openai.chat(model("scripted")), messages: [{ role: "user", content }] }));
  assert.equal(error.statusCode, 400);
  assert.match(error.message, /picture/);
});

await check("a_response_goes_on_from_the_one_before", async () => {
  const first = await generateText({ ...once, model: openai.responses(model("scripted")), prompt: "hi" });
  const previousResponseId = first.providerMetadata.openai.responseId;
  const second = await generateText({
    ...once, model: openai.responses(model("scripted")), prompt: "hi", providerOptions: { openai: { previousResponseId } },
  });
  assert.equal(second.text, HELLO);
  assert.ok(second.usage.inputTokens > first.usage.inputTokens);
});

await check("settings_and_stop_words_reach_the_engine", async () => {
  const got = await generateText({
    ...once, model: openai.chat(model("scripted")), prompt: "hi", temperature: 0, topP: 0.9, seed: 3, presencePenalty: 0,
    frequencyPenalty: 0, stopSequences: [" scripted"],
  });
  assert.deepEqual([got.text, got.finishReason], ["Hello from the", "stop"]);
});

await check("tags_of_thought_are_left_to_the_server", async () => {
  const wrapped = wrapLanguageModel({
    model: openai.chat(model("scripted")), middleware: extractReasoningMiddleware({ tagName: "think" }),
  });
  assert.equal((await generateText({ ...once, model: wrapped, prompt: "think" })).text, CONCLUSION);
});

await check("a_smoothed_stream_says_the_same", async () => {
  const result = streamText({
    ...once, model: compatible(model("scripted")), prompt: "hi", experimental_transform: smoothStream({ delayInMs: null }),
  });
  assert.equal((await read(result)).text, HELLO);
});

await check("answer_headers_and_ids_are_there", async () => {
  const { response } = await generateText({ ...once, model: compatible(model("scripted")), prompt: "hi" });
  assert.ok(response.headers["x-request-id"]);
  assert.ok(response.id);
  assert.equal(response.modelId, model("scripted"));
});

await check("a_text_is_gone_on_with", async () => {
  const got = await generateText({
    model: compatible.completionModel(model("chat")), prompt: "Once upon a", maxOutputTokens: 4, maxRetries: 0,
  });
  assert.ok(got.text);
  assert.ok(got.usage.outputTokens > 0);
});

await check("vectors_of_openai_in_order", async () => {
  const values = ["a cat", "a kitten", "a tax form"];
  const { embeddings, usage } = await embedMany({ model: openai.embedding(model("embed")), values, maxRetries: 0 });
  const [cat, kitten, form] = embeddings;
  assert.ok(cosineSimilarity(cat, kitten) > cosineSimilarity(cat, form));
  assert.ok(usage.tokens > 0);
});

await check("vectors_of_every_provider_are_equal", async () => {
  const models = [openai.embedding(model("embed")), compatible.embeddingModel(model("embed")), ollama.embedding(model("embed"))];
  const [first, ...others] = await Promise.all(
    models.map(async (one) => (await embed({ model: one, value: "a cat", maxRetries: 0 })).embedding),
  );
  for (const other of others) assert.ok(cosineSimilarity(first, other) > 0.9999);
});

await check("vectors_of_a_chosen_length", async () => {
  const { embedding } = await embed({
    model: openai.embedding(model("embed")), value: "a cat", maxRetries: 0, providerOptions: { openai: { dimensions: 64 } },
  });
  assert.equal(embedding.length, 64);
});

await check("vectors_of_a_chat_model_are_refused", async () => {
  const error = await failing(embed({ model: openai.embedding(model("scripted")), value: "a", maxRetries: 0 }));
  assert.deepEqual([error.statusCode, error.isRetryable], [400, false]);
});

await check("documents_are_ranked_by_vectors", async () => {
  const documents = ["a tax form", "a kitten"];
  const ranked = await rerank({ model: ollama.embeddingReranking(model("embed")), documents, query: "a cat", maxRetries: 0 });
  assert.equal(ranked.ranking[0].originalIndex, 1);
});
