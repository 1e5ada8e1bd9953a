// Applies YAML of several objects, after the server has checked it.

import { Button, Checkbox } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Applied, applyObjects } from '../../data/actions/apply-objects.ts';
import { discover } from '../../data/server/discovery.ts';
import { printable } from '../../data/text/printable.ts';
import { allFromYaml, YamlError } from '../../data/actions/yaml-text.ts';
import { Empty, ErrorBox, ObjectLink, Section, SeverityMark } from '../../parts/basics.tsx';
import { CodeEditor } from '../../parts/code-editor.tsx';
import { usePreferences } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

interface Outcome {
  readonly dryRun: boolean;
  readonly applied: readonly Applied[];
}

export function ApplyPage(): ReactNode {
  const { api, types } = useServices();
  const preferences = usePreferences();
  const namespace = preferences.namespace === '' ? 'default' : preferences.namespace;
  const [text, setText] = useState('');
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [outcome, setOutcome] = useState<Outcome>();
  const apply = async (dryRun: boolean): Promise<void> => {
    setBusy(true);
    setError(undefined);
    setOutcome(undefined);
    try {
      const applied = await applyObjects(allFromYaml(text), {
        api,
        namespace,
        dryRun,
        force,
        types: async (again) => {
          if (again) types.set(await discover(api));
          return types.get();
        },
      });
      setOutcome({ dryRun, applied });
    } catch (error_) {
      if (!(error_ instanceof YamlError)) throw error_;
      setError(error_);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <h1 className="page-title">Apply YAML</h1>
      <div className="stack">
        <div className="tall-editor">
          <CodeEditor
            label="YAML of objects, separated by ---"
            text=""
            version={0}
            onChange={(next) => {
              setText(next);
              setOutcome(undefined);
            }}
          />
        </div>
        <div className="toolbar">
          <Button
            size="xs"
            variant="default"
            loading={busy}
            disabled={text.trim() === ''}
            onClick={() => void apply(true)}
          >
            Check
          </Button>
          <Button
            size="xs"
            loading={busy}
            disabled={text.trim() === ''}
            onClick={() => void apply(false)}
          >
            Apply
          </Button>
          <Checkbox
            size="xs"
            label="Take over fields that others manage"
            checked={force}
            onChange={(event) => setForce(event.currentTarget.checked)}
          />
          <span className="muted">Objects without a namespace go to {printable(namespace)}.</span>
        </div>
        {error !== undefined && <ErrorBox title="The text cannot be read" error={error} />}
        {outcome !== undefined && <Results outcome={outcome} />}
      </div>
    </>
  );
}

const Results = ({ outcome: { applied, dryRun } }: { readonly outcome: Outcome }): ReactNode => (
  <Section title={dryRun ? 'The server would do this' : 'Results'}>
    <p className="muted" role="status">
      {applied.filter(({ result }) => typeof result === 'string').length} of {applied.length}{' '}
      objects are accepted.
    </p>
    {applied.length === 0 && <Empty>The text has no objects.</Empty>}
    <ul className="plain-list">
      {applied.map(({ object, type, namespace, result }, index) => (
        <li key={index}>
          <SeverityMark severity={typeof result === 'string' ? 'ok' : 'problem'} />{' '}
          {printable(object.kind ?? '')}{' '}
          <ObjectLink
            type={dryRun || typeof result !== 'string' ? undefined : type}
            namespace={namespace}
            name={object.metadata.name}
          />
          : {typeof result === 'string' ? outcomeText(result, dryRun) : printable(result.error)}
        </li>
      ))}
    </ul>
  </Section>
);

const outcomeText = (result: 'created' | 'updated', dryRun: boolean): string =>
  dryRun ? `would be ${result}` : result;
