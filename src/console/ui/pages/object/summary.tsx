// The first tab of an object: conditions, containers, events, family, labels.

import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { printable } from '../../data/text/printable.ts';
import { mentionsOf } from '../../data/insight/related.ts';
import { typeId } from '../../data/server/resource-type.ts';
import { conditionSeverity, conditionsOf } from '../../data/insight/status-words.ts';
import { Age, ObjectLink, PlainTable, Section, SeverityMark } from '../../parts/basics.tsx';
import { useTypes } from '../../parts/hooks.ts';
import { Allocation } from './allocation.tsx';
import { Containers } from './containers.tsx';
import { Data } from './data.tsx';
import { Events } from './events.tsx';
import { Family } from './family.tsx';
import { Pods } from './pods.tsx';
import type { TabProps } from './tab-props.ts';

export const Summary = ({ type, object }: TabProps): ReactNode => (
  <div className="summary">
    <div className="summary-main">
      {typeId(type) === 'pods' && <Containers object={object} />}
      {typeId(type) === 'nodes' && <Allocation type={type} object={object} />}
      <Conditions object={object} />
      <Pods type={type} object={object} />
      <Data type={type} object={object} />
      <Events object={object} />
    </div>
    <div className="summary-side">
      <Family type={type} object={object} />
      <Mentions type={type} object={object} />
      <Facts object={object} />
    </div>
  </div>
);

function Conditions({ object }: { readonly object: KubeObject }): ReactNode {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) return null;
  return (
    <Section title="Conditions">
      <PlainTable of="conditions">
        <thead>
          <tr>
            <th>Condition</th>
            <th>Status</th>
            <th>Reason</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map((condition) => {
            const severity = conditionSeverity(condition);
            return (
              <tr key={condition.type}>
                <td className="nowrap">
                  <SeverityMark severity={severity} /> {printable(condition.type)}
                </td>
                <td>{printable(condition.status)}</td>
                <td>
                  {printable(condition.reason ?? '')}
                  {condition.message !== undefined && condition.message !== '' && (
                    <div className="muted">{printable(condition.message)}</div>
                  )}
                </td>
                <td className="nowrap">
                  <Age time={condition.lastTransitionTime} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </PlainTable>
    </Section>
  );
}

function Mentions({ type, object }: TabProps): ReactNode {
  const types = useTypes();
  const mentions = mentionsOf(type, object);
  if (mentions.length === 0) return null;
  return (
    <Section title="Uses">
      <dl className="facts">
        {mentions.map(({ role, typeId: id, namespace, name }) => (
          <div key={`${id}/${name}`}>
            <dt>{role}</dt>
            <dd>
              <ObjectLink type={types.byId(id)} namespace={namespace} name={name} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** A copy of the object, which the YAML shows. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Longer annotations are shown in the YAML. */
const MAX_ANNOTATION = 300;

function Facts({ object: { metadata } }: { readonly object: KubeObject }): ReactNode {
  const labels = Object.entries(metadata.labels ?? {});
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key !== LAST_APPLIED,
  );
  return (
    <Section title="Metadata">
      <dl className="facts">
        <div>
          <dt>UID</dt>
          <dd className="mono">{metadata.uid}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd className="mono">{metadata.resourceVersion}</dd>
        </div>
        {(metadata.finalizers ?? []).length > 0 && (
          <div>
            <dt>Finalizers</dt>
            <dd>{(metadata.finalizers ?? []).map(printable).join(', ')}</dd>
          </div>
        )}
      </dl>
      {labels.length > 0 && <h3 className="facts-title">Labels</h3>}
      <div className="labels">
        {labels.map(([key, value]) => (
          <Badge key={key} variant="light" color="gray" tt="none" radius="sm" className="label">
            {printable(key)}={printable(value)}
          </Badge>
        ))}
      </div>
      {annotations.length > 0 && <h3 className="facts-title">Annotations</h3>}
      <dl className="facts annotations">
        {annotations.map(([key, value]) => (
          <div key={key}>
            <dt>{printable(key)}</dt>
            <dd>
              {printable(
                value.length > MAX_ANNOTATION ? `${value.slice(0, MAX_ANNOTATION)} …` : value,
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
