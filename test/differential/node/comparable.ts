// Reduces a status and its events to lines that are equal on two nodes if the nodes behave equally.

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export interface Observed {
  readonly status: object;
  readonly events: readonly Immutable<Event>[];
}

/** Fields that differ between any two nodes, or two runs. */
const LEFT_OUT = new Set([
  'lastTransitionTime',
  'lastHeartbeatTime',
  'lastProbeTime',
  'startTime',
  'startedAt',
  'finishedAt',
  'containerID',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'restartCount',
  'observedGeneration',
]);

/** Returns sorted lines: the path and the value of each field, and each event. */
export function comparable({ status, events }: Observed): readonly string[] {
  const lines = new Set<string>();
  collect(status, '', lines);
  for (const { type, reason, message, involvedObject } of events)
    lines.add(normalized(`event ${type} ${reason} ${involvedObject.fieldPath ?? ''} ${message}`));
  return [...lines].sort();
}

function collect(value: unknown, path: string, lines: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) {
      const { type, name } = (item ?? {}) as Readonly<Record<string, unknown>>;
      collect(item, `${path}[${String(type ?? name ?? '')}]`, lines);
    }
    return;
  }
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value))
      if (!LEFT_OUT.has(key)) collect(inner, `${path}.${key}`, lines);
    return;
  }
  if (value !== undefined) lines.add(normalized(`${path} ${String(value)}`));
}

/** Returns the text without identities, times and paths. */
function normalized(text: string): string {
  return (
    text
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replace(/\b[0-9a-f]{64}\b/g, 'ID')
      .replace(/\bkube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access')
      .replace(/bench-(ours|upstream)/g, 'NODE')
      .replace(/\/tmp\/coxswain-nodes-\S*?\/(ours|upstream)\//g, 'DIR/')
      .replaceAll('DIR/node/kubelet/', 'DIR/node/')
      // Ours names the images that are there.
      .replace(/ \(images on this node: [^)]*\)/, '')
      .replace(/\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|µs|s)\b/g, 'TIME')
  );
}
