// The public interface of the kubelet.

export type { KubeletConfig } from './config.ts';
export { Kubelet } from './kubelet.ts';
export { TlsListeners, type ServerTlsConfig } from './server/listeners.ts';
export type { ServerUser } from './server/access.ts';
export type { ServerListenConfig } from './server/config.ts';
export { noMounter, systemMounter, type Mounter } from './volumes/mounter.ts';
