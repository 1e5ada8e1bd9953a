// Composes the reporter of the Node.

import type { InformerView } from '#client/informers/index.ts';
import { kubeletTopic, NODE_CHECK_MS } from '../config.ts';
import type { Csi } from '../csi.ts';
import type { NodeFactsSource } from '../node/node-facts.ts';
import { NodeReporter } from '../node/node-reporter.ts';
import { PodCidrUpdater } from '../node/pod-cidr.ts';
import type { KubeletServer } from '../server/server.ts';
import type { Node } from '../types.ts';
import type { Base } from './base.ts';
import type { Settings } from './settings.ts';

const DEFAULT_PORT = 10_250;
/** The annotation of the Node that names the directory of the built-in provisioner's volumes. */
const LOCAL_VOLUMES = 'coxswain.dev/local-volumes';
/** The taint that a cloud controller manager removes when it has completed a new Node. */
const UNINITIALIZED = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
} as const;
/** The annotation by which it knows the address that the administrator has chosen. */
const PROVIDED_IP = 'alpha.kubernetes.io/provided-node-ip';

export interface ReporterParts {
  readonly base: Base;
  readonly settings: Settings;
  readonly node: NodeFactsSource;
  /** The Node of this kubelet. */
  readonly nodeInformer: InformerView<Node>;
  readonly server: KubeletServer;
  readonly csi: Csi;
}

/** The parts of a kubelet that its reporter uses. */
export interface ReporterSources {
  readonly base: Pick<Base, 'config' | 'recorder' | 'logger'>;
  readonly settings: Settings;
  readonly node: NodeFactsSource;
  /** Returns the port of the kubelet's server. */
  readonly port: () => number;
  /** Returns the attachable volumes that pods use. Default: none. */
  readonly volumesInUse?: () => readonly string[];
  /** See NodeReporterConfig. */
  readonly known?: Node;
}

/** Makes the reporter of the Node, which follows the Node in the API, too. */
export function makeReporter(parts: ReporterParts): NodeReporter {
  const { base, settings, node, nodeInformer, server, csi } = parts;
  const { config, logger, signal } = base;
  const reporter = makeNodeReporter({
    base,
    settings,
    node,
    port: () => server.port,
    volumesInUse: () => csi.volumes.inUse,
  });
  const podCidr = new PodCidrUpdater({
    runtime: base.runtime.runtime,
    clock: config.clock,
    logger,
    signal,
    onUpdate: () => reporter.nudge(),
  });
  const onNode = (seen: Node): void => {
    podCidr.nodeSeen(seen.spec);
    reporter.nodeSeen(seen);
  };
  const registration = nodeInformer.addEventHandler({
    onAdd: onNode,
    onUpdate: (_, seen) => onNode(seen),
  });
  signal.addEventListener('abort', () => registration.remove(), { once: true });
  return reporter;
}

/** Makes a reporter that is not notified of changes of the Node. */
export function makeNodeReporter(sources: ReporterSources): NodeReporter {
  const { base, settings, node, port, volumesInUse, known } = sources;
  const { config, recorder, logger } = base;
  const { client, clock } = config;
  const isCloud = config.externalCloudProvider === true;
  const nodePort = (): number =>
    config.advertisedPort ?? (config.server === undefined ? DEFAULT_PORT : port());
  return new NodeReporter({
    clock: config.backgroundClock ?? clock,
    random: config.random,
    logger,
    client,
    events: recorder,
    nodeName: config.nodeName,
    takesOver: config.takesOver ?? false,
    labels: node.labels,
    taints: [...(config.taints ?? []), ...(isCloud ? [UNINITIALIZED] : [])],
    podCIDRs: config.podCIDRs ?? [],
    annotations: {
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      // Without files there are no directories to remove.
      [LOCAL_VOLUMES]: settings.hostFiles ? settings.localVolumesDir : '',
      ...(isCloud && config.addresses !== undefined && { [PROVIDED_IP]: node.hostIPs.join() }),
    },
    unschedulable: config.unschedulable ?? false,
    ...(volumesInUse === undefined && { isUnchanged: () => node.isCurrent(nodePort()) }),
    facts: async () => {
      const facts = await node.current(nodePort());
      config.onAddresses?.(facts.addresses);
      return { ...facts, volumesInUse: volumesInUse?.() ?? [] };
    },
    checkMs: config.nodeCheckMs ?? NODE_CHECK_MS,
    reportMs: config.nodeReportMs ?? 300_000,
    leaseDurationSeconds: 40,
    heartbeatTickMs: config.heartbeatTickMs,
    keeper: config.heartbeatKeeper,
    topic: kubeletTopic(config.nodeName),
    ...(known !== undefined && { known }),
    successorOf: config.predecessor?.reporter,
  });
}
