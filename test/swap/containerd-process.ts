// `tsx containerd-process.ts DIR POD_CIDR`: a containerd with a pod network, for the kubelet of any
// maker. Prints `ready: SOCKET`, and runs until SIGTERM; then it ends with all pods.

import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { findCniPlugins } from '#network/index.ts';
import { launchContainerd } from '#runtime/containerd/index.ts';
import { nodePodNetwork, preparePodNetwork } from '#cluster/nodes/pod-network.ts';

const [dir = '', podCidr = ''] = process.argv.slice(2);
const logger = createLogger();
const cniBinDir = findCniPlugins();
if (cniBinDir === undefined) throw new Error('the CNI plugins are not installed');
const cniConfDir = join(dir, 'cni');
const network = nodePodNetwork({ clusterCidrs: [podCidr], serviceCidrs: [] }, dir, cniConfDir);
if (network !== undefined) await preparePodNetwork(network, [podCidr], logger);
const containerd = await launchContainerd({
  dir,
  cniConfDir,
  cniBinDir,
  clock: systemClock,
  logger,
});
process.once('SIGTERM', () => void containerd.stop({ pods: true }));
process.stdout.write(`ready: ${containerd.endpoint}\n`);
