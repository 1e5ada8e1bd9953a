// Tables of small kinds that belong to no namespace: priority, runtime and ingress classes.

import type * as networking from '#api/groups/networking/v1/index.ts';
import type * as node from '#api/groups/node/v1/index.ts';
import type * as scheduling from '#api/groups/scheduling/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

export const priorityClassTable: TableConvertor<Immutable<scheduling.PriorityClass>> = {
  columns: [
    NAME,
    column('Value', 'The priority of its pods.', { type: 'integer' }),
    column('Global-Default', 'Whether pods without a class have this one.', { type: 'boolean' }),
    AGE,
    column('PreemptionPolicy', 'Whether its pods may push out others.'),
  ],
  cells: ({ metadata, value, globalDefault = false, preemptionPolicy }, now) => [
    metadata.name,
    value,
    globalDefault,
    since(metadata.creationTimestamp, now),
    preemptionPolicy ?? '',
  ],
};

export const runtimeClassTable: TableConvertor<Immutable<node.RuntimeClass>> = {
  columns: [NAME, column('Handler', 'How the container runtime names what runs its pods.'), AGE],
  cells: ({ metadata, handler }, now) => [metadata.name, handler, since(metadata.creationTimestamp, now)],
};

export const ingressClassTable: TableConvertor<Immutable<networking.IngressClass>> = {
  columns: [
    NAME,
    column('Controller', 'Who implements its ingresses.'),
    column('Parameters', 'An object with more settings for the controller.'),
    AGE,
  ],
  cells: ({ metadata, spec: { controller = '', parameters } }, now) => {
    const group = parameters?.apiGroup === undefined ? '' : `.${parameters.apiGroup}`;
    const reference = parameters === undefined ? '<none>' : `${parameters.kind}${group}/${parameters.name}`;
    return [metadata.name, controller, reference, since(metadata.creationTimestamp, now)];
  },
};
