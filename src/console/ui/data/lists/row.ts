// One row of a list: what is kept of an object. 150,000 rows fit in a tab because a row has no
// object behind it, and texts that many rows have are one string in memory.

import type { TableRow } from './table.ts';

export type Cell = string | number | boolean | null;
export type Labels = Readonly<Record<string, string>>;

export interface Row {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since the epoch; NaN if the server gave no time. */
  readonly created: number;
  readonly deleting: boolean;
  readonly labels: Labels;
  readonly cells: readonly Cell[];
}

const NO_LABELS: Labels = Object.freeze({});

/** Above this number of texts, sharing starts anew: rows that exist keep their strings. */
const MAX_SHARED = 100_000;
/** Longer texts are hardly ever the same. */
const MAX_SHARED_LENGTH = 80;

/** Makes rows. Rows of one factory share their texts. */
export class RowFactory {
  readonly #texts = new Map<string, string>();
  readonly #labels = new Map<string, Labels>();

  /** Returns the row, or undefined if the server left out the object's metadata. */
  row({ cells, object }: TableRow): Row | undefined {
    const metadata = object?.metadata;
    if (metadata === undefined) return undefined;
    const namespace = this.#shared(metadata.namespace ?? '');
    return {
      uid: metadata.uid ?? `${namespace}/${metadata.name}`,
      namespace,
      name: metadata.name,
      created:
        metadata.creationTimestamp == null ? Number.NaN : Date.parse(metadata.creationTimestamp),
      deleting: metadata.deletionTimestamp != null,
      labels: metadata.labels === undefined ? NO_LABELS : this.#sharedLabels(metadata.labels),
      cells: cells.map((cell) => this.#cell(cell, metadata.name)),
    };
  }

  #cell(cell: unknown, name: string): Cell {
    switch (typeof cell) {
      case 'string':
        return cell === name ? name : this.#shared(cell);
      case 'number':
      case 'boolean':
        return cell;
      default:
        return cell == null ? null : this.#shared(JSON.stringify(cell));
    }
  }

  #shared(text: string): string {
    if (text.length > MAX_SHARED_LENGTH) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_SHARED) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  #sharedLabels(labels: Labels): Labels {
    const key = JSON.stringify(labels);
    const known = this.#labels.get(key);
    if (known !== undefined) return known;
    if (this.#labels.size >= MAX_SHARED) this.#labels.clear();
    this.#labels.set(key, labels);
    return labels;
  }
}
