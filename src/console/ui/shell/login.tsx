// The way in: a token, or a one-time link that `cox console` prints.

import { Alert, Button, Code, Divider, PasswordInput, Paper, Text, Title } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { isAbort, isUnauthorized, messageOf } from '../data/server/api-error.ts';
import { printable } from '../data/text/printable.ts';
import { providerPath } from '../data/server/session.ts';
import { useServices } from '../services.ts';
import { Logo } from './logo.tsx';

export interface LoginProps {
  /** Why an earlier attempt failed. */
  readonly problem?: string;
  /** Shown over a page whose session has ended. */
  readonly embedded?: boolean;
  readonly onSignedIn: () => Promise<void>;
}

export function Login({ problem, embedded = false, onSignedIn }: LoginProps): ReactNode {
  const { session } = useServices();
  const [token, setToken] = useState('');
  const [error, setError] = useState(problem);
  const [busy, setBusy] = useState(false);

  const issuer = useIssuer();

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await session.signIn({ token: token.trim() });
      setToken('');
      await onSignedIn();
    } catch (error_) {
      setError(
        isUnauthorized(error_) ? 'The server does not accept this token.' : messageOf(error_),
      );
    } finally {
      setBusy(false);
    }
  };

  const form = (
    <form onSubmit={(event) => void submit(event)}>
      {error !== undefined && (
        <Alert color="red" role="alert" mb="md">
          {error}
        </Alert>
      )}
      {issuer !== undefined && (
        <>
          <Button component="a" href={providerPath(location.hash)} fullWidth data-autofocus>
            Sign in with {printable(issuer)}
          </Button>
          <Divider my="md" label="or" />
        </>
      )}
      <PasswordInput
        label="Token"
        description="A bearer token of a user or a service account"
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
        autoComplete="off"
        data-autofocus={issuer === undefined ? true : undefined}
        required
        withAsterisk={false}
      />
      <Button
        type="submit"
        variant={issuer === undefined ? 'filled' : 'default'}
        fullWidth
        mt="md"
        loading={busy}
        disabled={token.trim() === ''}
      >
        Sign in
      </Button>
      <Text size="sm" c="dimmed" mt="md">
        Or run <Code>cox console</Code>: it opens this page with a link that works once. A token
        comes from <Code>kubectl create token NAME</Code>.
      </Text>
    </form>
  );
  if (embedded) return form;
  return (
    <main className="login">
      <Paper withBorder shadow="md" p="xl" className="login-card">
        <div className="login-brand">
          <Logo size={40} />
          <Title order={1} size="h3">
            Coxswain
          </Title>
        </div>
        {form}
      </Paper>
    </main>
  );
}

/** Returns the name of the identity provider. Undefined: there is none, or it is not known yet. */
function useIssuer(): string | undefined {
  const { session } = useServices();
  const [issuer, setIssuer] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    session.ways(abort.signal).then(
      ({ oidc }) => setIssuer(oidc === undefined ? undefined : hostOf(oidc.issuer)),
      // The form for a token is there in any case.
      (error: unknown) => {
        if (!isAbort(error)) console.warn('the ways to sign in cannot be read', error);
      },
    );
    return () => abort.abort();
  }, [session]);
  return issuer;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
