// The map of a namespace: ingresses, the services behind them, the workloads behind these. Pure:
// objects go in, columns of boxes and lines between them come out.

import type { KubeObject } from '../lists/live-object.ts';

export interface MapBox {
  readonly id: string;
  readonly typeId: string;
  readonly kind: string;
  readonly name: string;
  readonly detail: string;
  readonly state: 'ok' | 'waiting' | 'problem' | 'info';
  readonly column: number;
  readonly row: number;
}

export interface ClusterMap {
  readonly boxes: readonly MapBox[];
  readonly lines: readonly { readonly from: string; readonly to: string }[];
}

export interface MapObjects {
  readonly ingresses: readonly KubeObject[];
  readonly services: readonly KubeObject[];
  /** By the id of the kind. */
  readonly workloads: Readonly<Record<string, readonly KubeObject[]>>;
}

type Json = Readonly<Record<string, unknown>>;
type Unplaced = Omit<MapBox, 'row'>;

const recordOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.map(recordOf) : [];

export function clusterMap({ ingresses, services, workloads }: MapObjects): ClusterMap {
  const boxes: Unplaced[] = [];
  const lines: { from: string; to: string }[] = [];
  const serviceId = (name: string): string => `services/${name}`;
  for (const ingress of ingresses) {
    const { name } = ingress.metadata;
    const id = `ingresses/${name}`;
    const rules = listOf(ingress.spec?.['rules']);
    const hosts = rules.map(({ host }) => String(host ?? '*'));
    boxes.push({
      id,
      typeId: 'ingresses.networking.k8s.io',
      kind: 'Ingress',
      name,
      detail: [...new Set(hosts)].join(', '),
      state: 'info',
      column: 0,
    });
    const targets = new Set(
      [
        ...rules.flatMap(({ http }) =>
          listOf(recordOf(http)['paths']).map(({ backend }) => recordOf(backend)),
        ),
        recordOf(ingress.spec?.['defaultBackend']),
      ].flatMap(({ service }) => {
        const target = recordOf(service)['name'];
        return typeof target === 'string' ? [target] : [];
      }),
    );
    for (const target of targets) {
      lines.push({ from: id, to: serviceId(target) });
      if (!services.some(({ metadata }) => metadata.name === target))
        boxes.push({
          id: serviceId(target),
          typeId: 'services',
          kind: 'Service',
          name: target,
          detail: 'does not exist',
          state: 'problem',
          column: 1,
        });
    }
  }
  const all = Object.entries(workloads).flatMap(([typeId, objects]) =>
    objects.map((object) => ({ typeId, object })),
  );
  for (const service of services) {
    const { name } = service.metadata;
    const selector = Object.entries(recordOf(service.spec?.['selector']));
    const selected = all.filter(
      ({ object }) => selector.length > 0 && matches(selector, podLabels(object)),
    );
    const ports = listOf(service.spec?.['ports']).map(({ port }) => String(port));
    boxes.push({
      id: serviceId(name),
      typeId: 'services',
      kind: 'Service',
      name,
      detail: [String(service.spec?.['type'] ?? ''), ports.join(', ')].filter(Boolean).join(' '),
      state: selector.length > 0 && selected.length === 0 ? 'waiting' : 'info',
      column: 1,
    });
    for (const { typeId, object } of selected)
      lines.push({ from: serviceId(name), to: `${typeId}/${object.metadata.name}` });
  }
  for (const { typeId, object } of all) boxes.push(workloadBox(typeId, object));
  const known = new Set(boxes.map(({ id }) => id));
  const valid = lines.filter(({ to }) => known.has(to));
  return { boxes: placed(boxes, valid), lines: valid };
}

function workloadBox(typeId: string, { kind = '', metadata, spec, status }: KubeObject): Unplaced {
  const isDaemonSet = typeId === 'daemonsets.apps';
  const want = Number(
    isDaemonSet ? (status?.['desiredNumberScheduled'] ?? 0) : (spec?.['replicas'] ?? 1),
  );
  const ready = Number((isDaemonSet ? status?.['numberReady'] : status?.['readyReplicas']) ?? 0);
  return {
    id: `${typeId}/${metadata.name}`,
    typeId,
    kind: kind === '' ? typeId.split('.')[0]! : kind,
    name: metadata.name,
    detail: `${ready} of ${want} ready`,
    state: ready >= want ? 'ok' : ready === 0 ? 'problem' : 'waiting',
    column: 2,
  };
}

const podLabels = ({ spec }: KubeObject): Json =>
  recordOf(recordOf(recordOf(spec?.['template'])['metadata'])['labels']);

const matches = (selector: readonly (readonly [string, unknown])[], labels: Json): boolean =>
  selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);

/** Places the boxes of each column near those of the column before that they are joined with. */
function placed(boxes: readonly Unplaced[], lines: ClusterMap['lines']): readonly MapBox[] {
  const rows = new Map<string, number>();
  const result: MapBox[] = [];
  for (const column of [0, 1, 2]) {
    const wish = ({ id }: Unplaced): number => {
      const sources = lines.flatMap(({ from, to }) => (to === id ? (rows.get(from) ?? []) : []));
      return sources.length === 0
        ? Number.POSITIVE_INFINITY
        : sources.reduce((sum, row) => sum + row, 0) / sources.length;
    };
    const inColumn = boxes
      .filter((box) => box.column === column)
      .map((box) => ({ box, wanted: wish(box) }))
      .sort((a, b) =>
        a.wanted === b.wanted ? (a.box.name < b.box.name ? -1 : 1) : a.wanted - b.wanted,
      );
    inColumn.forEach(({ box }, row) => {
      rows.set(box.id, row);
      result.push({ ...box, row });
    });
  }
  return result;
}
