// The data of config maps and secrets. Values of secrets are shown one by one, when asked for.

import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { printable } from '../../data/text/printable.ts';
import { typeId } from '../../data/server/resource-type.ts';
import { Section } from '../../parts/basics.tsx';
import type { TabProps } from './tab-props.ts';

const MAX_SHOWN = 4000;

export function Data({ type, object }: TabProps): ReactNode {
  const id = typeId(type);
  if (id !== 'configmaps' && id !== 'secrets') return null;
  const isSecret = id === 'secrets';
  const entries = [
    ...Object.entries((object['data'] ?? {}) as Readonly<Record<string, string>>),
    ...Object.entries((object['binaryData'] ?? {}) as Readonly<Record<string, string>>),
  ];
  return (
    <Section title={`Data: ${entries.length}`}>
      <dl className="data">
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt>{printable(key)}</dt>
            <dd>{isSecret ? <Secret value={value} /> : <Value text={value} />}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** Lines stay lines; everything else that would act is made visible. */
const Value = ({ text }: { readonly text: string }): ReactNode => (
  <pre className="value" tabIndex={0}>
    {text
      .slice(0, MAX_SHOWN)
      .split('\n')
      .map((line) => printable(line.replaceAll('\t', '    ')))
      .join('\n')}
    {text.length > MAX_SHOWN && `\n… ${text.length - MAX_SHOWN} more characters`}
  </pre>
);

function Secret({ value }: { readonly value: string }): ReactNode {
  const [shown, setShown] = useState(false);
  if (!shown)
    return (
      <Button size="compact-xs" variant="default" onClick={() => setShown(true)}>
        Show {Math.floor((value.length * 3) / 4)} bytes
      </Button>
    );
  return <Value text={decoded(value)} />;
}

function decoded(value: string): string {
  try {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return value;
    throw error;
  }
}
