// Tables of flow schemas and priority levels.

import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

type FlowSchema = Immutable<flowcontrol.FlowSchema>;
const NONE = '<none>';

export const flowSchemaTable: TableConvertor<FlowSchema> = {
  columns: [
    NAME,
    column('PriorityLevel', 'The priority level that its requests have.'),
    column('MatchingPrecedence', 'Which schema is asked first: that with the lowest number.'),
    column('DistinguisherMethod', 'What makes requests one flow.'),
    AGE,
    column('MissingPL', 'Whether its priority level does not exist.'),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.priorityLevelConfiguration.name,
    spec.matchingPrecedence,
    spec.distinguisherMethod?.type ?? NONE,
    since(metadata.creationTimestamp, now),
    status.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
  ],
  compare: (a, b) => a.spec.matchingPrecedence - b.spec.matchingPrecedence || byName(a, b),
};

function byName(a: FlowSchema, b: FlowSchema): number {
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

export const priorityLevelConfigurationTable: TableConvertor<Immutable<flowcontrol.PriorityLevelConfiguration>> = {
  columns: [
    NAME,
    column('Type', 'Whether it is limited.'),
    column('NominalConcurrencyShares', 'Its share of the requests that may run at once.'),
    column('Queues', 'How many queues it has.'),
    column('HandSize', 'How many queues a flow may use.'),
    column('QueueLengthLimit', 'How long a queue may be.'),
    AGE,
  ],
  cells: ({ metadata, spec: { type, limited } }, now) => {
    const queuing = limited?.limitResponse.queuing;
    return [
      metadata.name,
      type,
      limited?.nominalConcurrencyShares ?? NONE,
      queuing?.queues ?? NONE,
      queuing?.handSize ?? NONE,
      queuing?.queueLengthLimit ?? NONE,
      since(metadata.creationTimestamp, now),
    ];
  },
};
