// Buttons of a test cluster: its virtual clock, and copies of it.

import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { printable } from '../../data/text/printable.ts';
import { ErrorBox, Section } from '../../parts/basics.tsx';
import { useExtra, usePolled } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';

const REFRESH_MS = 2000;
const STEPS: readonly (readonly [title: string, ms: number])[] = [
  ['1 second', 1000],
  ['10 seconds', 10_000],
  ['1 minute', 60_000],
  ['10 minutes', 600_000],
  ['1 hour', 3_600_000],
  ['1 day', 86_400_000],
];

export function ClockPage(): ReactNode {
  const { extras } = useServices();
  const { value, error, reload } = usePolled('clock', REFRESH_MS, (signal) =>
    extras.json<{ time: string }>('clock', {}, signal),
  );
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [seconds, setSeconds] = useState('30');
  const change = async (body: object): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await extras.post('clock', body);
      reload();
    } catch (error_) {
      setFailure(error_);
    } finally {
      setBusy(false);
    }
  };
  const own = Math.round(Number(seconds) * 1000);
  return (
    <>
      <h1 className="page-title">Time and forks</h1>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {failure !== undefined && <ErrorBox error={failure} />}
      <Section title="The cluster's clock">
        <p className="clock" role="status">
          {value === undefined ? '…' : new Date(value.time).toUTCString()}
        </p>
        <div className="toolbar">
          {STEPS.map(([title, ms]) => (
            <Button
              key={title}
              size="xs"
              variant="default"
              disabled={busy}
              onClick={() => void change({ advanceMs: ms })}
            >
              + {title}
            </Button>
          ))}
          <TextInput
            size="xs"
            aria-label="Seconds"
            value={seconds}
            onChange={(event) => setSeconds(event.currentTarget.value)}
          />
          <Button
            size="xs"
            loading={busy}
            disabled={!(own >= 1)}
            onClick={() => void change({ advanceMs: own })}
          >
            Advance by seconds
          </Button>
          <Button
            size="xs"
            variant="default"
            disabled={busy}
            onClick={() => void change({ settle: true })}
          >
            Let it settle
          </Button>
        </div>
      </Section>
      <Forks />
    </>
  );
}

function Forks(): ReactNode {
  const { extras } = useServices();
  const available = useExtra('forks');
  const [forks, setForks] = useState<readonly string[]>([]);
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  if (!available) return null;
  const fork = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      const { url } = await extras.post<{ url: string }>('forks', {});
      setForks([...forks, url]);
    } catch (error_) {
      setFailure(error_);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section title="Forks">
      <p>A fork is a copy of the cluster with the same state and a future of its own.</p>
      <div className="toolbar">
        <Button size="xs" mt="sm" loading={busy} onClick={() => void fork()}>
          Fork the cluster
        </Button>
      </div>
      {failure !== undefined && <ErrorBox error={failure} />}
      <ul className="plain-list">
        {forks.filter(isWebAddress).map((url) => (
          <li key={url}>
            <a href={url} target="_blank" rel="noreferrer" className="object-link">
              {printable(url)}
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const isWebAddress = (url: string): boolean => /^https?:\/\//.test(url);
