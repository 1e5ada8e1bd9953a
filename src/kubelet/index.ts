// The public face of the kubelet.

export type { KubeletConfig } from './config.ts';
export { Kubelet } from './kubelet.ts';
export type { ServerTlsConfig, ServerUser } from './server/server.ts';
export { noMounter, systemMounter, type Mounter } from './volumes/mounter.ts';
