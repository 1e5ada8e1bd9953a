// The traffic of the API server: requests and watch events of each client, once a second.

import { type ReactNode, useEffect, useState } from 'react';
import { sleep } from '../../browser/clock.ts';
import { isAbort, messageOf } from '../../data/server/api-error.ts';
import { linesOf } from '../../data/text/lines.ts';
import { printable } from '../../data/text/printable.ts';
import { type ClientRates, type TrafficLine, TrafficRates } from '../../data/insight/traffic.ts';
import { Loading, PlainTable, Section } from '../../parts/basics.tsx';
import { type Services, useServices } from '../../services.ts';

const RETRY_MS = 2000;
const SHOWN = 60;

export function TrafficPage(): ReactNode {
  const services = useServices();
  const [clients, setClients] = useState<readonly ClientRates[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    void followTraffic(services, abort.signal, setClients, setProblem);
    return () => abort.abort();
  }, [services]);
  return (
    <>
      <h1 className="page-title">Traffic of the API server</h1>
      {problem !== undefined && (
        <p className="muted" role="status">
          Reconnecting: {printable(problem)}
        </p>
      )}
      {clients === undefined ? <Loading what="the traffic" /> : <Clients clients={clients} />}
    </>
  );
}

async function followTraffic(
  { api, extras, clock, connection }: Services,
  signal: AbortSignal,
  onClients: (clients: readonly ClientRates[]) => void,
  onProblem: (problem: string | undefined) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const rates = new TrafficRates();
      const { body } = await api.request(extras.path('traffic'), { signal });
      onProblem(undefined);
      if (body !== null)
        for await (const lines of linesOf(body))
          for (const line of lines)
            if (line !== '') onClients(rates.add(JSON.parse(line) as TrafficLine));
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      onProblem(messageOf(error));
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    await connection.whenOnline(signal).catch(() => undefined);
  }
}

const rateText = (rate: number): string => (rate === 0 ? '' : rate.toFixed(rate < 10 ? 1 : 0));

function Clients({ clients }: { readonly clients: readonly ClientRates[] }): ReactNode {
  return (
    <Section title={`Clients: ${clients.length}`}>
      <PlainTable of="clients">
        <thead>
          <tr>
            <th>Client</th>
            <th>Last two minutes</th>
            <th className="number">Reads/s</th>
            <th className="number">Writes/s</th>
            <th className="number">Events/s</th>
            <th className="number">Failures/s</th>
            <th className="number">Watches</th>
          </tr>
        </thead>
        <tbody>
          {clients.slice(0, SHOWN).map((client) => (
            <tr key={client.key}>
              <td>
                {printable(client.user)}
                <div className="muted">{printable(client.userAgent)}</div>
              </td>
              <td>
                <Sparkline values={client.history} />
              </td>
              <td className="number">{rateText(client.reads)}</td>
              <td className="number">{rateText(client.writes)}</td>
              <td className="number">{rateText(client.events)}</td>
              <td className="number state-problem">{rateText(client.failures)}</td>
              <td className="number">{client.openWatches}</td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
    </Section>
  );
}

const WIDTH = 180;
const HEIGHT = 28;
const SECONDS = 120;

/** A line of the values; the numbers beside it say the same. */
function Sparkline({ values }: { readonly values: readonly number[] }): ReactNode {
  const highest = Math.max(1, ...values);
  const points = values
    .map((value, index) => {
      const x = WIDTH - ((values.length - 1 - index) * WIDTH) / SECONDS;
      const y = HEIGHT - 2 - (value / highest) * (HEIGHT - 4);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
  return (
    <svg width={WIDTH} height={HEIGHT} aria-hidden="true" className="sparkline">
      <polyline points={points} fill="none" strokeWidth="1.5" />
    </svg>
  );
}
