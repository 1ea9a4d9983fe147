/** The connection of one conversation, and its messages, by the published hooks of the Agents SDK. */
import { useAgentChat } from "agents/chat/react";
import { useAgent } from "agents/react";
import type { UIMessage } from "ai";
import { useEffect, useMemo, useState } from "react";
import type { Api } from "../api/api.ts";
import type { Place } from "../api/types.ts";
import { takeFirstMessage } from "./first-message.ts";
import { useTicket } from "./use-ticket.ts";

export type ConnectionState = "connecting" | "open" | "lost" | "refused";

export interface Chat {
  readonly messages: readonly UIMessage[];
  /** Text is coming, or will. */
  readonly busy: boolean;
  readonly error: string | null;
  readonly connection: ConnectionState;
  /** Why the connection is refused. */
  readonly refusal: string | null;
  readonly send: (text: string) => void;
  readonly edit: (messageId: string, text: string) => void;
  readonly regenerate: (messageId: string) => void;
  readonly stop: () => void;
  readonly clear: () => void;
  readonly clearError: () => void;
  /** Reads the conversation anew. */
  readonly reconnect: () => void;
}

export function useChat(api: Api, place: Place): Chat {
  const { ticket, refusal, failures, renew, opened } = useTicket(api, place);
  const [told, setTold] = useState<string | null>(null);
  const agent = useAgent({
    agent: place.agent,
    name: place.thread,
    host: location.host,
    protocol: location.protocol === "https:" ? "wss" : "ws",
    query: ticket === null ? {} : { ticket },
    enabled: ticket !== null,
    onOpen: opened,
    onClose: renew,
    onMessage: (event: MessageEvent) => setTold((before) => readRefusal(event.data) ?? before),
  });
  const chat = useAgentChat({
    agent,
    messages: [],
    getInitialMessages: null,
    syncMessagesToServer: false,
  });
  const { sendMessage, regenerate, stop, clearHistory, clearError } = chat;
  const isOpen = agent.identified;

  useEffect(() => {
    if (!isOpen) return;
    const text = takeFirstMessage(place);
    if (text !== null) void sendMessage({ text });
  }, [isOpen, place, sendMessage]);

  return useMemo(
    () => ({
      messages: chat.messages,
      busy: chat.status === "submitted" || chat.isStreaming || chat.isRecovering,
      error: told ?? chat.error?.message ?? null,
      connection: toConnection({ refusal, isOpen, failures }),
      refusal,
      send: (text) => void sendMessage({ text }),
      edit: (messageId, text) => void sendMessage({ text, messageId }),
      regenerate: (messageId) => void regenerate({ messageId }),
      stop: () => void stop(),
      clear: clearHistory,
      reconnect: renew,
      clearError: () => {
        setTold(null);
        clearError();
      },
    }),
    [
      chat.messages,
      chat.status,
      chat.isStreaming,
      chat.isRecovering,
      chat.error,
      told,
      refusal,
      isOpen,
      failures,
      sendMessage,
      regenerate,
      stop,
      clearHistory,
      clearError,
      renew,
    ],
  );
}

function toConnection(known: {
  readonly refusal: string | null;
  readonly isOpen: boolean;
  readonly failures: number;
}): ConnectionState {
  if (known.refusal !== null) return "refused";
  if (known.isOpen) return "open";
  return known.failures > 0 ? "lost" : "connecting";
}

/** `holdfast_error` is the one frame that the SDK's clients hand on. */
function readRefusal(data: unknown): string | null {
  if (typeof data !== "string" || !data.includes("holdfast_error")) return null;
  try {
    const frame = JSON.parse(data) as { readonly type?: unknown; readonly message?: unknown };
    return frame.type === "holdfast_error" && typeof frame.message === "string"
      ? frame.message
      : null;
  } catch {
    return null;
  }
}
