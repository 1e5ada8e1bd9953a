// The controllers of bootstrap tokens.

export { BootstrapSigner } from './signer.ts';
export { BootstrapTokenCleaner } from './token-cleaner.ts';
