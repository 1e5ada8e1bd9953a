// The tree of owners: up to the top, and down to what the object owns.

import type { ReactNode } from 'react';
import { printable } from '../../data/text/printable.ts';
import { ownedBy, ownersOf, type Relative } from '../../data/insight/related.ts';
import { ErrorBox, Loading, ObjectLink, Section } from '../../parts/basics.tsx';
import { useLoad, useTypes } from '../../parts/hooks.ts';
import { useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

export function Family({ type, object }: TabProps): ReactNode {
  const { api } = useServices();
  const types = useTypes();
  const { metadata } = object;
  // The family is read again when the object changes in a way that its controller has seen.
  const key = `${metadata.uid}/${metadata.generation}/${JSON.stringify(metadata.ownerReferences ?? [])}`;
  const { value, error, reload } = useLoad(key, async (signal) => {
    const [owners, owned] = await Promise.all([
      ownersOf(api, types, metadata, signal),
      ownedBy(api, types, type, metadata, signal),
    ]);
    return { owners, ...owned };
  });
  if (error !== undefined)
    return (
      <Section title="Family">
        <ErrorBox error={error} onRetry={reload} />
      </Section>
    );
  if (value === undefined)
    return (
      <Section title="Family">
        <Loading what="owners" />
      </Section>
    );
  const { owners, children, truncated } = value;
  if (owners.length === 0 && children.length === 0) return null;
  const self: Relative = {
    type: undefined,
    kind: type.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    state: 'present',
    children,
    truncated,
  };
  const tree = owners.reduce<Relative>((below, owner) => ({ ...owner, children: [below] }), self);
  return (
    <Section title="Family">
      <ul className="tree">
        <Branch relative={tree} self={self} />
      </ul>
    </Section>
  );
}

function Branch({
  relative,
  self,
}: {
  readonly relative: Relative;
  readonly self: Relative;
}): ReactNode {
  const { type, kind, namespace, name, state, children, truncated } = relative;
  const isSelf = relative === self;
  return (
    <li>
      <span className="muted">{printable(kind)} </span>
      {isSelf ? (
        <strong aria-current="true">{printable(name)}</strong>
      ) : (
        <ObjectLink
          type={state === 'missing' ? undefined : type}
          namespace={namespace}
          name={name}
        />
      )}
      {state === 'missing' && <span className="state-problem"> is gone</span>}
      {state === 'forbidden' && <span className="muted"> (you may not see it)</span>}
      {(children.length > 0 || truncated === true) && (
        <ul className="tree">
          {children.map((child) => (
            <Branch key={`${child.kind}/${child.name}`} relative={child} self={self} />
          ))}
          {truncated === true && <li className="muted">perhaps more: not everything was read</li>}
        </ul>
      )}
    </li>
  );
}
