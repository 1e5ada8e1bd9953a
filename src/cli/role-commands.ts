// The commands of separate roles. Their flags have the names of upstream's components; upstream/
// has the disposition of each flag.

import type { Command } from 'commander';
import { addApiServer } from './role-commands/api-server.ts';
import { addCerts } from './role-commands/certs.ts';
import { addControllerManager, addScheduler } from './role-commands/control-plane.ts';
import { addKubelet } from './role-commands/kubelet.ts';
import { addDns, addIngress } from './role-commands/network-servers.ts';
import { addCsiDriver, addProxy, addRuntime } from './role-commands/node-agents.ts';
import type { UpstreamFlag } from './upstream/flag.ts';
import { KUBE_APISERVER_FLAGS } from './upstream/kube-apiserver.ts';
import { KUBE_CONTROLLER_MANAGER_FLAGS } from './upstream/kube-controller-manager.ts';
import { KUBE_PROXY_FLAGS } from './upstream/kube-proxy.ts';
import { KUBE_SCHEDULER_FLAGS } from './upstream/kube-scheduler.ts';
import { KUBELET_FLAGS } from './upstream/kubelet.ts';

/** The flags of the upstream component whose place a command takes. */
export const UPSTREAM_FLAGS: ReadonlyMap<string, readonly UpstreamFlag[]> = new Map([
  ['apiserver', KUBE_APISERVER_FLAGS],
  ['controller-manager', KUBE_CONTROLLER_MANAGER_FLAGS],
  ['scheduler', KUBE_SCHEDULER_FLAGS],
  ['kubelet', KUBELET_FLAGS],
  ['proxy', KUBE_PROXY_FLAGS],
]);

export function addRoleCommands(program: Command): void {
  addApiServer(program);
  addControllerManager(program);
  addScheduler(program);
  addKubelet(program);
  addProxy(program);
  addDns(program);
  addRuntime(program);
  addIngress(program);
  addCsiDriver(program);
  addCerts(program);
}
