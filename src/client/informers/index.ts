// Informers: local copies of the API server's objects.

export * from './store.ts';
export * from './reflector.ts';
export { SharedInformer } from './shared-informer.ts';
export type { EventHandler, HandlerRegistration } from './event-handler.ts';
export type { SharedInformerConfig } from './shared-informer.ts';
export type { InformerView } from './view.ts';
export * from './factory.ts';
