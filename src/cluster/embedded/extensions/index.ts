// Extensions of the API server inside the process: handlers of admission, conversion and
// authorization, and custom resources.

export type { AdmissionCall, MutatingHandler, ValidatingHandler } from './admission.ts';
export type { ConversionHandler } from './conversion.ts';
export { installDefinitions } from './install.ts';
export type { Definitions } from './install.ts';
export { makeWebhooks } from './webhooks.ts';
export type {
  AdmissionOptions,
  AuthorizationOptions,
  InstalledHandler,
  MutationOptions,
  Webhooks,
} from './webhooks.ts';
export type { AccessReviewer } from '#apiserver/authorization/local-authorizer.ts';
