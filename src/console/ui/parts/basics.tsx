// Small pieces that all pages share.

import { Alert, Badge, Button, Loader, Paper, Title, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { durationText } from '../data/text/age.ts';
import { ApiError, isForbidden, messageOf } from '../data/server/api-error.ts';
import type { Severity } from '../data/lists/cell-severity.ts';
import { printable } from '../data/text/printable.ts';
import type { ResourceType } from '../data/server/resource-type.ts';
import { objectRoute } from '../data/server/routes.ts';
import { useNow } from './hooks.ts';

const COLORS: Readonly<Record<Severity, string>> = {
  problem: 'red',
  waiting: 'yellow',
  ok: 'green',
  neutral: 'gray',
};

const SYMBOLS: Readonly<Record<Severity, string>> = {
  problem: '✕',
  waiting: '◔',
  ok: '✓',
  neutral: '•',
};

/** A severity as a symbol: shape as well as colour. */
export const SeverityMark = ({ severity }: { readonly severity: Severity }): ReactNode => (
  <span className={`mark mark-${severity}`} aria-hidden="true">
    {SYMBOLS[severity]}
  </span>
);

export const StatusBadge = ({
  severity,
  children,
}: {
  readonly severity: Severity;
  readonly children: ReactNode;
}): ReactNode => (
  <Badge
    variant="light"
    color={COLORS[severity]}
    radius="sm"
    tt="none"
    autoContrast
    leftSection={<SeverityMark severity={severity} />}
  >
    {children}
  </Badge>
);

/** The age of a time, which stays true. */
export function Age({ time }: { readonly time: string | undefined }): ReactNode {
  const now = useNow(5000);
  if (time === undefined) return '–';
  return (
    <Tooltip label={new Date(time).toLocaleString()} openDelay={400}>
      <time dateTime={time}>{durationText(now - Date.parse(time))}</time>
    </Tooltip>
  );
}

export function ObjectLink({
  type,
  namespace,
  name,
  children,
}: {
  readonly type: ResourceType | undefined;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly children?: ReactNode;
}): ReactNode {
  const text = children ?? printable(name);
  if (type === undefined) return <span className="object-name">{text}</span>;
  return (
    <Link
      className="object-link"
      href={objectRoute(type, type.namespaced ? namespace : undefined, name)}
    >
      {text}
    </Link>
  );
}

export const Section = ({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode => (
  <Paper component="section" withBorder className="section" aria-label={title}>
    <div className="section-head">
      <Title order={2} size="h5">
        {title}
      </Title>
      {actions}
    </div>
    {children}
  </Paper>
);

export const Loading = ({ what }: { readonly what: string }): ReactNode => (
  <div className="loading" role="status">
    <Loader size="sm" aria-hidden="true" />
    <span>Loading {what} …</span>
  </div>
);

export const Empty = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <p className="empty">{children}</p>
);

/** An error of the server, in its own words. */
export function ErrorBox({
  error,
  title,
  onRetry,
}: {
  readonly error: unknown;
  readonly title?: string;
  readonly onRetry?: () => void;
}): ReactNode {
  const causes = error instanceof ApiError ? (error.body.details?.causes ?? []) : [];
  return (
    <Alert
      color={isForbidden(error) ? 'yellow' : 'red'}
      title={title ?? (isForbidden(error) ? 'Not allowed' : 'That did not work')}
      role="alert"
    >
      <div className="error-text">{printable(messageOf(error))}</div>
      {causes.length > 1 && (
        <ul className="plain-list">
          {causes.slice(0, 20).map(({ field, message }, index) => (
            <li key={index}>
              {field !== undefined && <code>{printable(field)}</code>} {printable(message ?? '')}
            </li>
          ))}
        </ul>
      )}
      {onRetry !== undefined && (
        <Button size="compact-sm" variant="default" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** A table of text, without sorting. It scrolls sideways where it is too wide, with the keyboard, too. */
export const PlainTable = ({
  of,
  className,
  children,
}: {
  /** The rows, in the plural: `conditions`. For screen readers. */
  readonly of: string;
  readonly className?: string;
  /** The head and the body. */
  readonly children: ReactNode;
}): ReactNode => (
  <div className="table-scroll" tabIndex={0} role="group" aria-label={`Table of ${of}`}>
    <table className={className === undefined ? 'plain-table' : `plain-table ${className}`}>
      {children}
    </table>
  </div>
);
