/** The few HTML pages of the API: what this is, and its reference. No inline script, so that the CSP can forbid it. */
export const LANDING_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Holdfast</title></head>
<body>
<h1>Holdfast</h1>
<p>A runtime for durable AI agents. This is its API; send a bearer key.</p>
<ul>
<li><a href="/v1/reference">API reference</a></li>
<li><a href="/v1/openapi.json">OpenAPI document</a></li>
<li><a href="/healthz">Health</a></li>
</ul>
</body>
</html>
`;

export const LANDING_CSP =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The page: its own files, its own API and sockets, and nothing from anywhere else, whatever an answer contains. */
export const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Swagger UI sets style attributes, so inline styles are allowed; scripts come from this origin's files only. */
export const REFERENCE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast API reference</title>
<link rel="stylesheet" href="/swagger/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/swagger/swagger-ui-bundle.js"></script>
<script src="/v1/reference.js"></script>
</body>
</html>
`;

/** A file of its own, because the CSP allows no inline script. `persistAuthorization` stays off: keys are not stored. */
export const REFERENCE_SCRIPT = `SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
`;
