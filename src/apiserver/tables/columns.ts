// Columns that many tables share.

import type { TableColumn } from './table.ts';

interface NamedImage {
  readonly name: string;
  readonly image?: string;
}

export const NAME: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
};
export const AGE: TableColumn = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created.',
};

export function column(
  name: string,
  description: string,
  options: { type?: TableColumn['type']; wide?: boolean } = {},
): TableColumn {
  return {
    name,
    type: options.type ?? 'string',
    description,
    ...(options.wide === true && { priority: 1 }),
  };
}

/** Returns the values in one cell, or a word for none. */
export function joined(values: readonly string[] | undefined, none = '<none>'): string {
  return values === undefined || values.length === 0 ? none : values.join(',');
}

/** The wide columns of a pod template, for the cells of `containerCells`. */
export const CONTAINERS: readonly TableColumn[] = [
  column('Containers', 'Names of the containers in the template.', { wide: true }),
  column('Images', 'Images of the containers in the template.', { wide: true }),
];
export const SELECTOR: TableColumn = column('Selector', 'Labels of the selected pods.', {
  wide: true,
});

export function containerCells(
  containers: readonly NamedImage[] | undefined,
): [names: string, images: string] {
  return [
    joined(
      containers?.map(({ name }) => name),
      '',
    ),
    joined(
      containers?.map(({ image }) => image ?? ''),
      '',
    ),
  ];
}

const SHOWN = 3;

/**
 * Returns the first few texts in one cell, with the number of the others; `none` if there are none.
 */
export function firstOf(texts: readonly string[], none: string): string {
  if (texts.length === 0) return none;
  const shown = texts.slice(0, SHOWN).join(',');
  return texts.length > SHOWN ? `${shown} + ${texts.length - SHOWN} more...` : shown;
}
