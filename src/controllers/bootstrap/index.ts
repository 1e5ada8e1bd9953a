// Bootstrap tokens.

export { BootstrapSigner } from './signer.ts';
export { BootstrapTokenCleaner } from './token-cleaner.ts';
