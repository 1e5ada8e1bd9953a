// The tables of quotas, pod templates and component statuses.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabels } from '#machinery/selectors/labels.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, containerCells, NAME } from '../tables/columns.ts';

export const resourceQuotaTable: TableConvertor<Immutable<core.ResourceQuota>> = {
  columns: [
    NAME,
    column('Request', 'Of what there is and of what is requested: how much is used, and how much may be.'),
    column('Limit', 'Of the limits: how much is used, and how much may be.'),
    AGE,
  ],
  cells: ({ metadata, status }, now) => {
    const used = status.used ?? {};
    const entries = Object.entries(status.hard ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, hard]) => ({ name, text: `${name}: ${Object.hasOwn(used, name) ? used[name] : '0'}/${hard}` }));
    const cell = (limits: boolean): string =>
      entries
        .filter(({ name }) => name.startsWith('limits.') === limits)
        .map(({ text }) => text)
        .join(', ');
    return [metadata.name, cell(false), cell(true), since(metadata.creationTimestamp, now)];
  },
};

export const podTemplateTable: TableConvertor<Immutable<core.PodTemplate>> = {
  columns: [
    NAME,
    column('Containers', 'Names of the containers of the template.'),
    column('Images', 'Images of the containers of the template.'),
    column('Pod Labels', 'Labels of the pods that are made from it.'),
  ],
  cells: ({ metadata, template }) => [
    metadata.name,
    ...containerCells(template.spec.containers),
    formatLabels(template.metadata.labels),
  ],
};

export const componentStatusTable: TableConvertor<Immutable<core.ComponentStatus>> = {
  columns: [
    NAME,
    column('Status', 'Whether the component is well.'),
    column('Message', 'What it says of itself.'),
    column('Error', 'Why it could not be asked.'),
  ],
  cells: ({ metadata, conditions }) => {
    const healthy = conditions?.find(({ type }) => type === 'Healthy');
    const status = healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
    return [metadata.name, status, healthy?.message ?? '', healthy?.error ?? ''];
  },
};
