// Defaults of flow schemas and priority levels.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { FlowSchema, PriorityLevelConfiguration } from './types.ts';

const MATCHING_PRECEDENCE = 1000;
const CONCURRENCY_SHARES = 30;
const HAND_SIZE = 8;
const QUEUES = 64;
const QUEUE_LENGTH = 50;

function setFlowSchemaDefaults({ spec }: FlowSchema): void {
  if ((spec.matchingPrecedence ?? 0) === 0) spec.matchingPrecedence = MATCHING_PRECEDENCE;
}

function setPriorityLevelConfigurationDefaults({
  spec: { limited, exempt },
}: PriorityLevelConfiguration): void {
  if (exempt !== undefined) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (limited === undefined) return;
  limited.nominalConcurrencyShares ??= CONCURRENCY_SHARES;
  limited.lendablePercent ??= 0;
  const { queuing } = limited.limitResponse;
  if (queuing === undefined) return;
  if ((queuing.handSize ?? 0) === 0) queuing.handSize = HAND_SIZE;
  if ((queuing.queues ?? 0) === 0) queuing.queues = QUEUES;
  if ((queuing.queueLengthLimit ?? 0) === 0) queuing.queueLengthLimit = QUEUE_LENGTH;
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  FlowSchema: setFlowSchemaDefaults,
  PriorityLevelConfiguration: setPriorityLevelConfigurationDefaults,
};
