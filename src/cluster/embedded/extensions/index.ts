// Extensions of the API server inside the process: handlers of admission, conversion and
// authorization, and custom resources.

export { type Definitions, installDefinitions } from './install.ts';
export type * from './types.ts';
export { makeWebhooks } from './webhooks.ts';
