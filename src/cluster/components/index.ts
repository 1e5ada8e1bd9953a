// The components of a cluster besides its API server.

export { Components } from './components.ts';
export type { ComponentsConfig, ControlConfig, PodDns, RunningComponents, User } from './config.ts';
export { componentOf, KUBELET_AGENT } from './users.ts';
