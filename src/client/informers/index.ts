// Informers: the API server's objects, kept at hand.

export * from './store.ts';
export * from './reflector.ts';
export { SharedInformer } from './shared-informer.ts';
export type { EventHandler, HandlerRegistration, SharedInformerConfig } from './shared-informer.ts';
export * from './factory.ts';
