// The TTL controller.

export { TTL_ANNOTATION, TtlController } from './ttl-controller.ts';
