// Bootstrap tokens.

export { BootstrapTokenCleaner } from './token-cleaner.ts';
