// Makes checks one after another and prints one JSON line for each: {"check", "verdict", "detail"}.
import assert from "node:assert/strict";

const env = process.env;
export const url = env.TARGET_URL;
export const key = env.TARGET_KEY;
export { assert };

class Lacking extends Error {}

/** The gateway's model for a role; the check is skipped where it has none. */
export function model(role) {
  const name = env[`TARGET_${role.toUpperCase()}`];
  if (!name) throw new Lacking(`the gateway has no model for the role '${role}'`);
  return name;
}

/** Make one check; what it throws is a miss. */
export async function check(name, run) {
  let line = { check: name, verdict: "passed", detail: "" };
  try {
    await run();
  } catch (error) {
    const verdict = error instanceof Lacking ? "skipped" : "missed";
    line = { check: name, verdict, detail: String(error?.message ?? error).slice(0, 600) };
  }
  console.log(JSON.stringify(line));
}

/** What a promise is rejected with; a miss where it is not. */
export async function failing(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it succeeded");
}
