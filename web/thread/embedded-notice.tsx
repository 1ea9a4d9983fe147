/** Said wherever the embedded model answers: nobody should judge agents by its rules. */
import type { ReactNode } from "react";
import type { Agent } from "#client/types.ts";
import { isEmbedded } from "./examples.ts";

export function EmbeddedNotice({ agent }: { readonly agent: Agent }): ReactNode {
  if (!isEmbedded(agent)) return null;
  return (
    <details className="embedded">
      <summary>
        <strong>Not an LLM.</strong> The built-in model is a set of rules for CSV and text files,
        and mails.
        <span className="embedded-more">Use a real one</span>
      </summary>
      <p>Start again with any OpenAI-compatible server, such as Ollama. Your conversations stay.</p>
      <pre>
        HOLDFAST_MODEL=openai-compatible/llama3.2 \{"\n"}
        HOLDFAST_MODEL_BASE_URL=http://127.0.0.1:11434/v1 npm start
      </pre>
      <p className="muted">
        With a deployed Worker: <code>HOLDFAST_MODEL</code> in <code>wrangler.toml</code>.
      </p>
    </details>
  );
}
