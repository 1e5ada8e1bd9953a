// The YAML of an object, to read and to edit. Before it is saved, the server makes the change
// without effect (dry run), and the difference is shown. A conflict shows what others have changed.

import { Alert, Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ApiError, isConflict } from '../../data/server/api-error.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { rebase } from '../../data/actions/rebase.ts';
import { objectPath } from '../../data/server/resource-type.ts';
import { fromYaml, inOrderOf, toYaml } from '../../data/actions/yaml-text.ts';
import { ErrorBox } from '../../parts/basics.tsx';
import { CodeEditor, DiffView } from '../../parts/code-editor.tsx';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

interface Editing {
  /** The object that the text began with. */
  readonly base: KubeObject;
  readonly text: string;
  /** Another number replaces the editor's text. */
  readonly version: number;
  readonly notice?: string;
}

interface Review {
  readonly before: string;
  readonly after: string;
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

export function YamlTab({
  type,
  object,
  missing,
}: TabProps & { readonly missing: boolean }): ReactNode {
  const { api } = useServices();
  const [editing, setEditing] = useState<Editing>();
  const [review, setReview] = useState<Review>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const path = objectPath(type, object.metadata.namespace, object.metadata.name);
  const canUpdate = type.verbs.includes('update') && !missing;

  const begin = (): void =>
    setEditing({ base: object, text: toYaml(object), version: (editing?.version ?? 0) + 1 });

  const attempt = async (action: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
    } catch (error_) {
      setError(error_);
    } finally {
      setBusy(false);
    }
  };

  const put = async (wanted: KubeObject, query: string): Promise<[KubeObject, string[]]> => {
    const response = await api.request(`${path}?fieldValidation=Strict${query}`, {
      method: 'PUT',
      body: wanted,
    });
    const warning = response.headers.get('warning');
    return [(await response.json()) as KubeObject, warning === null ? [] : [warning]];
  };

  const preview = (): Promise<void> =>
    attempt(async () => {
      if (editing === undefined) return;
      const wanted = fromYaml(editing.text);
      const [result, warnings] = await put(wanted, '&dryRun=All');
      setReview({
        before: toYaml(editing.base),
        after: toYaml(inOrderOf(result, editing.base)),
        object: wanted,
        warnings,
      });
    });

  const save = (): Promise<void> =>
    attempt(async () => {
      if (review === undefined) return;
      await put(review.object, '');
      setReview(undefined);
      setEditing(undefined);
    });

  const takeLatest = (): Promise<void> =>
    attempt(async () => {
      if (editing === undefined) return;
      const latest = await api.json<KubeObject>(path);
      const { value, conflicts } = rebase(
        withoutVersion(editing.base),
        withoutVersion(fromYaml(editing.text)),
        withoutVersion(latest),
      );
      const merged = {
        ...value,
        metadata: { ...value.metadata, resourceVersion: latest.metadata.resourceVersion },
      };
      setReview(undefined);
      setEditing({
        base: latest,
        text: toYaml(merged),
        version: editing.version + 1,
        notice:
          conflicts.length === 0
            ? 'Your changes are now on top of the latest version.'
            : `Both of you have changed ${conflicts.join(', ')}: the text has your values.`,
      });
    });

  if (editing === undefined)
    return (
      <div className="stack">
        <div className="toolbar">
          {canUpdate && (
            <Button size="xs" onClick={begin}>
              Edit
            </Button>
          )}
          <Button
            size="xs"
            variant="default"
            onClick={() => void navigator.clipboard.writeText(toYaml(object))}
          >
            Copy
          </Button>
        </div>
        <CodeEditor
          label="YAML of the object"
          text={toYaml(object)}
          version={object.metadata.resourceVersion ?? ''}
          readOnly
        />
      </div>
    );

  const changedMeanwhile =
    object.metadata.resourceVersion !== editing.base.metadata.resourceVersion;
  return (
    <div className="stack">
      <div className="toolbar">
        {review === undefined ? (
          <Button size="xs" loading={busy} onClick={() => void preview()}>
            Review changes
          </Button>
        ) : (
          <>
            <Button size="xs" loading={busy} onClick={() => void save()}>
              Save
            </Button>
            <Button size="xs" variant="default" onClick={() => setReview(undefined)}>
              Back to the text
            </Button>
          </>
        )}
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            setEditing(undefined);
            setReview(undefined);
            setError(undefined);
          }}
        >
          Discard
        </Button>
        {changedMeanwhile && !isConflict(error) && (
          <span className="muted" role="status">
            The object has changed since you began.{' '}
            <Button size="compact-xs" variant="default" onClick={() => void takeLatest()}>
              Take the changes in
            </Button>
          </span>
        )}
      </div>
      {editing.notice !== undefined && <Alert color="sea">{printable(editing.notice)}</Alert>}
      {error !== undefined && <EditError error={error} onTakeLatest={() => void takeLatest()} />}
      {review === undefined ? (
        <CodeEditor
          label="YAML of the object, editable"
          text={editing.text}
          version={editing.version}
          onChange={(text) => setEditing((last) => last && { ...last, text })}
        />
      ) : (
        <ReviewPanel review={review} />
      )}
    </div>
  );
}

/** The version is not a change of the user's. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function EditError({
  error,
  onTakeLatest,
}: {
  readonly error: unknown;
  readonly onTakeLatest: () => void;
}): ReactNode {
  if (isConflict(error))
    return (
      <Alert color="yellow" title="The object was changed meanwhile" role="alert">
        {error instanceof ApiError && <p className="error-text">{printable(error.message)}</p>}
        <Button size="compact-sm" variant="default" mt="xs" onClick={onTakeLatest}>
          Put my changes on top of the latest version
        </Button>
      </Alert>
    );
  return <ErrorBox title="The server does not accept this" error={error} />;
}

function ReviewPanel({ review }: { readonly review: Review }): ReactNode {
  return (
    <>
      {review.warnings.map((warning) => (
        <Alert key={warning} color="yellow" title="Warning of the server">
          {printable(warning)}
        </Alert>
      ))}
      {review.before === review.after ? (
        <Alert color="gray">The server would change nothing.</Alert>
      ) : (
        <DiffView
          label="What the server would change"
          before={review.before}
          after={review.after}
        />
      )}
    </>
  );
}
