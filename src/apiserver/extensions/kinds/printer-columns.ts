// The table of a custom kind: Name, and the columns of its definition. Values of other types than
// the column's are not shown.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { sortedCopy } from '#api/machinery/codec/structural/sorted.ts';
import { describeField } from '#api/machinery/openapi/index.ts';
import { formatDouble, marshalJson } from '#machinery/text/go-format.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import type { TableColumn, TableConvertor } from '#apiserver/tables/table.ts';
import type { PrinterColumn, ScalePaths } from '../description.ts';
import {
  evaluateJsonPath,
  JsonPathError,
  parseJsonPath,
  PathWork,
  type PathNode,
} from '../json-path/index.ts';

/** The column of a definition without columns. */
const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: describeField('meta/v1.ObjectMeta', 'creationTimestamp', false) ?? '',
  jsonPath: '.metadata.creationTimestamp',
};

const NAME: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: describeField('meta/v1.ObjectMeta', 'name', false) ?? '',
};

export function customTable(columns: readonly PrinterColumn[]): TableConvertor {
  if (columns.length > 0) return tableOf(columns);
  ageTable ??= tableOf([AGE]);
  return ageTable;
}

/** Shared by all kinds without columns. */
let ageTable: TableConvertor | undefined;

/** Returns the table of the scale subresource. */
export function scaleTable({ specReplicasPath, statusReplicasPath }: ScalePaths): TableConvertor {
  const column = (name: string, jsonPath: string, description: string): PrinterColumn => {
    return { name, type: 'integer', description, jsonPath };
  };
  return tableOf([
    ...(specReplicasPath === ''
      ? []
      : [column('Desired', '.spec.replicas', 'Number of desired replicas')]),
    ...(statusReplicasPath === ''
      ? []
      : [column('Available', '.status.replicas', 'Number of actual replicas')]),
    AGE,
  ]);
}

interface Column {
  readonly type: string;
  readonly path: readonly PathNode[];
}

/**
 * Returns the table. The columns from the first one with an invalid path on are left out, as
 * upstream.
 */
function tableOf(columns: readonly PrinterColumn[]): TableConvertor {
  const headers: TableColumn[] = [NAME];
  const valueColumns: Column[] = [];
  for (const { name, type, format, description = '', priority, jsonPath } of columns) {
    const path = pathOf(jsonPath);
    if (path === undefined) break;
    valueColumns.push({ type, path });
    headers.push({
      name,
      type: type as TableColumn['type'],
      ...(format !== undefined && { format }),
      description:
        description === ''
          ? `Custom resource definition column (in JSONPath format): ${jsonPath}`
          : description,
      ...(priority !== undefined && { priority }),
    });
  }
  return {
    columns: headers,
    cells: (object: KubeObject, now: number) => {
      const work = new PathWork();
      return [
        object.metadata.name,
        ...valueColumns.map((column) => cellOf(column, object, now, work)),
      ];
    },
  };
}

function pathOf(jsonPath: string): readonly PathNode[] | undefined {
  try {
    return parseJsonPath(jsonPath);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

/** Returns the cell. Cells are null once the columns of the row have taken too much work. */
function cellOf({ type, path }: Column, object: KubeObject, now: number, work: PathWork): unknown {
  let value: unknown;
  try {
    const results = evaluateJsonPath(path, object, work);
    if (results.length === 0) return null;
    [value] = results;
    if (type === 'string') work.visitAll(value);
  } catch (error) {
    if (error instanceof JsonPathError) return null;
    throw error;
  }
  switch (type) {
    case 'string':
      return textOf(value);
    case 'integer':
      return typeof value === 'number'
        ? Math.trunc(value)
        : typeof value === 'bigint'
          ? value
          : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    default:
      return null;
  }
}

function textOf(value: unknown): string {
  if (value === null) return '<no value>';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return marshalJson(sortedCopy(value));
  return typeof value === 'number' && !Number.isInteger(value)
    ? formatDouble(value)
    : String(value);
}

function ageOf(time: string, now: number): string {
  if (time === '' || time === 'null') return '<unknown>';
  return RFC_3339.test(time) && !Number.isNaN(Date.parse(time))
    ? humanDuration(now - Date.parse(time))
    : '<invalid>';
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
