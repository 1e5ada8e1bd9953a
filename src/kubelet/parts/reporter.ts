// Composes the reporter of the Node.

import type { SharedInformer } from '#client/informers/index.ts';
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

export interface ReporterParts {
  readonly base: Base;
  readonly settings: Settings;
  readonly node: NodeFactsSource;
  /** The Node of this kubelet. */
  readonly nodeInformer: SharedInformer<Node>;
  readonly server: KubeletServer;
  readonly csi: Csi;
}

/** Makes the reporter of the Node, which follows the Node in the API, too. */
export function makeReporter(parts: ReporterParts): NodeReporter {
  const { base, settings, node, nodeInformer, server, csi } = parts;
  const { config, recorder, logger, signal } = base;
  const { client, clock } = config;
  const reporter = new NodeReporter({
    clock: config.backgroundClock ?? clock,
    random: config.random,
    logger,
    client,
    events: recorder,
    nodeName: config.nodeName,
    takesOver: config.takesOver ?? false,
    labels: node.labels,
    taints: config.taints ?? [],
    podCIDRs: config.podCIDRs ?? [],
    annotations: {
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      // Without files there are no directories to remove.
      [LOCAL_VOLUMES]: settings.hostFiles ? settings.localVolumesDir : '',
    },
    unschedulable: config.unschedulable ?? false,
    facts: async () => {
      const facts = await node.current(
        config.advertisedPort ?? (config.server === undefined ? DEFAULT_PORT : server.port),
      );
      config.onAddresses?.(facts.addresses);
      return { ...facts, volumesInUse: csi.volumes.inUse };
    },
    checkMs: config.nodeCheckMs ?? NODE_CHECK_MS,
    reportMs: config.nodeReportMs ?? 300_000,
    leaseDurationSeconds: 40,
    heartbeatTickMs: config.heartbeatTickMs,
    keeper: config.heartbeatKeeper,
    topic: kubeletTopic(config.nodeName),
  });
  const podCidr = new PodCidrUpdater({
    runtime: base.runtime.runtime,
    clock,
    logger,
    signal,
    onUpdate: () => reporter.nudge(),
  });
  const onNode = (seen: Node): void => {
    podCidr.nodeSeen(seen.spec);
    reporter.nodeSeen(seen);
  };
  nodeInformer.addEventHandler({ onAdd: onNode, onUpdate: (_, seen) => onNode(seen) });
  return reporter;
}
