// The npm package `openai`.
import OpenAI from "openai";
import { assert, check, key, model, url } from "./checks.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout: 120_000 });

await check("a_chat_answers_with_text_and_usage", async () => {
  const got = await client.chat.completions.create({
    model: model("chat"), messages: [{ role: "user", content: "Say hello." }], max_tokens: 12,
  });
  assert.ok(got.choices[0].message.content);
  assert.equal(got.usage.total_tokens, got.usage.prompt_tokens + got.usage.completion_tokens);
});
