// The controller that attaches volumes of CSI drivers to nodes.

export { AttachDetachController } from './attach-detach-controller.ts';
export type { AttachDetachConfig } from './attach-detach-controller.ts';
