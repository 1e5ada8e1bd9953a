// The namespace controller.

export { NamespaceController } from './namespace-controller.ts';
export type { NamespaceControllerConfig } from './namespace-controller.ts';
