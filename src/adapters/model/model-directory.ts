/**
 * The models of a deployment by route:
 *
 *   default                     the configured default route (HOLDFAST_MODEL), `embedded/scripted` out of the box
 *   embedded/scripted           rules, no language model, no network
 *   openai-compatible/<model>   the server at HOLDFAST_MODEL_BASE_URL, e.g. openai-compatible/qwen3:8b
 *   workers-ai/<model id>       the AI binding: workers-ai/@cf/..., workers-ai/<vendor>/<model>, workers-ai/dynamic/<name>
 *
 * A route that this deployment cannot serve resolves to null, which fails the run with `model_unavailable`.
 */
import type { Model, ModelDirectory } from "#ports/model.ts";
import { SCRIPTED_ROUTE, ScriptedModel } from "./embedded/scripted-model.ts";
import { OpenAiCompatibleModel } from "./openai-compatible-model.ts";

export interface ModelConfig {
  readonly defaultRoute: string;
  readonly openaiCompatible: {
    readonly baseUrl: string;
    readonly apiKey: string | null;
    readonly name: string;
  } | null;
  /** Makes the model of an id behind the `AI` binding, or null without one (workers-ai-model.ts is wired by the host). */
  readonly workersAi: ((modelId: string, route: string) => Model) | null;
  /** Pause of the embedded model before each piece of text; default none. */
  readonly scriptedPaceMs?: number;
}

export interface ModelVariables {
  readonly HOLDFAST_MODEL?: string | undefined;
  readonly HOLDFAST_MODEL_BASE_URL?: string | undefined;
  readonly HOLDFAST_MODEL_API_KEY?: string | undefined;
  readonly HOLDFAST_SCRIPTED_PACE_MS?: string | undefined;
}

/** Where Ollama listens, so that `HOLDFAST_MODEL=openai-compatible/<model>` alone is enough on a developer's machine. */
const LOCAL_BASE_URL = "http://127.0.0.1:11434/v1";

export function toModelConfig(
  variables: ModelVariables,
  workersAi: ModelConfig["workersAi"],
): ModelConfig {
  const defaultRoute = variables.HOLDFAST_MODEL || SCRIPTED_ROUTE;
  const baseUrl =
    variables.HOLDFAST_MODEL_BASE_URL ||
    (defaultRoute.startsWith("openai-compatible/") ? LOCAL_BASE_URL : "");
  return {
    defaultRoute,
    openaiCompatible:
      baseUrl === ""
        ? null
        : { baseUrl, apiKey: variables.HOLDFAST_MODEL_API_KEY || null, name: "openai-compatible" },
    workersAi,
    scriptedPaceMs: toPace(variables.HOLDFAST_SCRIPTED_PACE_MS),
  };
}

/** A demonstration aid: what is no number of milliseconds up to ten seconds is no pause. */
function toPace(text: string | undefined): number {
  const pace = Number(text ?? "0");
  return pace >= 0 && pace <= 10_000 ? pace : 0;
}

export function createModelDirectory(config: ModelConfig): ModelDirectory {
  const known = new Map<string, Model | null>();
  return {
    resolve(route) {
      const target = route === "default" ? config.defaultRoute : route;
      const model = known.get(target) ?? createModel(target, config);
      known.set(target, model);
      return model;
    },
  };
}

function createModel(route: string, config: ModelConfig): Model | null {
  if (route === SCRIPTED_ROUTE) return new ScriptedModel({ paceMs: config.scriptedPaceMs ?? 0 });
  const slash = route.indexOf("/");
  const modelId = route.slice(slash + 1);
  if (slash === -1 || modelId === "") return null;
  switch (route.slice(0, slash)) {
    case "openai-compatible":
      return config.openaiCompatible === null
        ? null
        : new OpenAiCompatibleModel({ ...config.openaiCompatible, modelId, route });
    case "workers-ai":
      return isWorkersAiId(modelId) ? (config.workersAi?.(modelId, route) ?? null) : null;
    default:
      return null;
  }
}

function isWorkersAiId(modelId: string): boolean {
  return /^(?:@cf\/[^/\s]+\/[^/\s]+|dynamic\/[^/\s]+|[^@/\s]+\/[^/\s]+)$/.test(modelId);
}
