// The controllers of ServiceAccount tokens in Secrets.

export { legacyTokenSigner } from './legacy-token.ts';
export type { LegacyTokenOf } from './legacy-token.ts';
export { TokensController } from './tokens-controller.ts';
export type { TokensControllerConfig } from './tokens-controller.ts';
export { LegacyTokenCleaner } from './legacy-token-cleaner.ts';
export type { LegacyTokenCleanerConfig } from './legacy-token-cleaner.ts';
