/** Prompts and resources of the fixture. */
import type { ExportedPrompt, ExportedResource, PromptMessage } from "#ports/agent-exports.ts";
import type { ContentPart } from "#ports/content.ts";
import { RED_PIXEL } from "./media.ts";
import { form, valueOf } from "./questions.ts";

function says(text: string): PromptMessage {
  return shows({ type: "text", text });
}
function shows(content: ContentPart): PromptMessage {
  return { role: "user", content };
}
function prompt(
  name: string,
  spec: Pick<ExportedPrompt, "render"> & Partial<ExportedPrompt>,
): ExportedPrompt {
  const description = `For the suite: ${name}.`;
  return { name, title: null, description, arguments: [], asks: [], ...spec };
}
const argument = (name: string, description: string) => ({ name, description, required: true });
const PLACES = ["paris", "park", "party", "london"];

export const PROMPTS: readonly ExportedPrompt[] = [
  prompt("test_simple_prompt", { render: () => [says("This is a simple prompt for testing.")] }),
  prompt("test_prompt_with_arguments", {
    arguments: [
      {
        ...argument("arg1", "First test argument"),
        complete: (value) => PLACES.filter((place) => place.startsWith(value)),
      },
      argument("arg2", "Second test argument"),
    ],
    render: ({ arg1, arg2 }) => [says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  }),
  prompt("test_prompt_with_embedded_resource", {
    arguments: [argument("resourceUri", "URI of the resource to embed")],
    render: ({ resourceUri = "" }) => [
      shows({
        type: "resource",
        resource: {
          uri: resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      }),
      says("Please process the embedded resource above."),
    ],
  }),
  prompt("test_prompt_with_image", {
    render: () => [
      shows({ type: "image", data: RED_PIXEL, mimeType: "image/png" }),
      says("Please analyze the image above."),
    ],
  }),
  prompt("test_input_required_result_prompt", {
    asks: [
      {
        key: "user_context",
        method: "elicitation/create",
        params: form("What context should the prompt use?", { context: { type: "string" } }),
      },
    ],
    render: (_args, { user_context: answer = null }) => [
      says(`Use this context: ${valueOf(answer, "context")}`),
    ],
  }),
];

export const RESOURCES: readonly ExportedResource[] = [
  {
    name: "static-text",
    uri: "test://static-text",
    description: "A static text.",
    mimeType: "text/plain",
    read: (uri) => ({
      uri,
      mimeType: "text/plain",
      text: "This is the content of the static text resource.",
    }),
  },
  {
    name: "static-binary",
    uri: "test://static-binary",
    description: "A static image.",
    mimeType: "image/png",
    read: (uri) => ({ uri, mimeType: "image/png", blob: RED_PIXEL }),
  },
  {
    name: "watched-resource",
    uri: "test://watched-resource",
    description: "A resource to subscribe to.",
    mimeType: "text/plain",
    read: (uri) => ({ uri, mimeType: "text/plain", text: "Watched." }),
  },
  {
    name: "template",
    uri: "test://template/{id}/data",
    description: "Data by id.",
    mimeType: "application/json",
    read: (uri, { id = "" }) => ({
      uri,
      mimeType: "application/json",
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }),
  },
];
