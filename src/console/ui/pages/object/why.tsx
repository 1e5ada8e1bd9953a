// Why an object is in its state: the answer first, then the chain of causes as a picture, or as a
// list for readers of text.

import { SegmentedControl } from '@mantine/core';
import { type ReactNode, Suspense, useState } from 'react';
import { lazyComponent } from '../../parts/lazy-component.ts';
import type { Severity } from '../../data/lists/cell-severity.ts';
import {
  type Cause,
  type CauseSeverity,
  type Explanation,
  pictureOf,
} from '../../data/insight/explanation.ts';
import { printable } from '../../data/text/printable.ts';
import { typeId } from '../../data/server/resource-type.ts';
import { layoutTree } from '../../data/insight/tree-layout.ts';
import { ErrorBox, Loading, ObjectLink, Section, SeverityMark } from '../../parts/basics.tsx';
import { usePolled, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

const Flow = lazyComponent(async () => (await import('../../parts/flow.tsx')).Flow);

const REFRESH_MS = 10_000;
/** A larger picture helps no reader; the list has everything. */
const MAX_BOXES = 120;
const COLUMN = 330;
const ROW = 112;
/** The proportions of the picture on most screens. */
const ASPECT = 2;

const severityOf = (severity: CauseSeverity): Severity =>
  severity === 'info' ? 'neutral' : severity;

export function WhyTab({ type, object }: TabProps): ReactNode {
  const { extras } = useServices();
  const { name, namespace = '' } = object.metadata;
  const [form, setForm] = useState('picture');
  const kind = typeId(type);
  const { value, error, reload } = usePolled(
    `${kind}/${namespace}/${name}/${object.metadata.uid}`,
    REFRESH_MS,
    (signal) => extras.json<Explanation>('why', { kind, name, namespace }, signal),
  );
  if (error !== undefined && value === undefined)
    return <ErrorBox error={error} onRetry={reload} />;
  if (value === undefined) return <Loading what="the explanation" />;
  const unread = Object.entries(value.unread);
  return (
    <div className="stack">
      <Section
        title={value.because.length === 0 ? 'Nothing is wrong' : 'Because'}
        actions={
          <SegmentedControl
            size="xs"
            aria-label="Form"
            value={form}
            onChange={setForm}
            data={[
              { value: 'picture', label: 'Picture' },
              { value: 'list', label: 'List' },
            ]}
          />
        }
      >
        {value.because.length === 0 ? (
          <p>
            <SeverityMark severity="ok" /> {printable(value.tree.text)}
          </p>
        ) : (
          <ul className="because">
            {value.because.map((cause) => (
              <li key={cause.text}>
                <SeverityMark severity={severityOf(cause.severity)} /> <CauseText cause={cause} />
              </li>
            ))}
          </ul>
        )}
        {unread.length > 0 && (
          <p className="muted">
            Not read:{' '}
            {unread.map(([what, why]) => `${printable(what)} (${printable(why)})`).join(', ')}
          </p>
        )}
      </Section>
      {form === 'list' ? (
        <Section title="Causes">
          <ul className="tree">
            <CauseBranch cause={value.tree} />
          </ul>
        </Section>
      ) : (
        <Suspense fallback={<Loading what="the picture" />}>
          <Picture explanation={value} />
        </Suspense>
      )}
    </div>
  );
}

function Picture({ explanation }: { readonly explanation: Explanation }): ReactNode {
  const placed = layoutTree(pictureOf(explanation), MAX_BOXES);
  const columns = 1 + Math.max(...placed.map(({ column }) => column));
  const rows = 1 + Math.max(...placed.map(({ row }) => row));
  const down = isBetterDown(columns, rows);
  return (
    <Flow
      label="Causes as a picture"
      down={down}
      boxes={placed.map(({ id, value, column, row }) => ({
        id,
        x: (down ? row : column) * COLUMN,
        y: (down ? column : row) * ROW,
        className: `flow-${value.severity}`,
        content: (
          <>
            <SeverityMark severity={severityOf(value.severity)} /> <CauseText cause={value} />
          </>
        ),
      }))}
      lines={placed.flatMap(({ id, parent }) =>
        parent === undefined ? [] : [{ from: parent, to: id }],
      )}
    />
  );
}

/** Reports whether a deep tree is larger to see from top to bottom. */
function isBetterDown(columns: number, rows: number): boolean {
  const zoom = (wide: number, high: number): number =>
    Math.min(ASPECT / (wide * COLUMN), 1 / (high * ROW));
  return zoom(rows, columns) > zoom(columns, rows);
}

function CauseText({ cause }: { readonly cause: Cause }): ReactNode {
  const types = useTypes();
  const { object, text, source } = cause;
  const type = object === undefined ? undefined : types.byKind(object.group, object.kind);
  return (
    <span className="cause">
      <span className="cause-text" title={text}>
        {printable(text)}
      </span>
      {object !== undefined && type !== undefined && (
        <span className="cause-object">
          <ObjectLink type={type} namespace={object.namespace} name={object.name}>
            {type.kind} {printable(object.name)}
          </ObjectLink>
        </span>
      )}
      {source !== undefined && <span className="cause-source">{printable(source)}</span>}
    </span>
  );
}

const CauseBranch = ({ cause }: { readonly cause: Cause }): ReactNode => (
  <li>
    <SeverityMark severity={severityOf(cause.severity)} /> <CauseText cause={cause} />
    {cause.causes.length > 0 && (
      <ul className="tree">
        {cause.causes.map((each, index) => (
          <CauseBranch key={`${index}/${each.text}`} cause={each} />
        ))}
      </ul>
    )}
  </li>
);
