// Package server starts the API server under test in the place of the one that upstream's
// integration tests run in their own process.
package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// The program, which is called as `PROGRAM apiserver FLAGS`.
	programVariable = "COXSWAIN_INTEGRATION_PROGRAM"
	// A file to which the output of the servers is appended.
	logVariable = "COXSWAIN_INTEGRATION_LOG"

	token        = "loopback-token"
	startTimeout = time.Minute
	stopTimeout  = 10 * time.Second
	pollInterval = 20 * time.Millisecond
)

// Flags that only upstream's process in its test has: its own version, and what comes from its
// listener.
var testOnly = []string{
	"advertise-address", "bind-address", "cert-dir", "emulated-version", "endpoint-reconciler-type", "etcd-prefix",
	"external-hostname", "feature-gates", "min-compatibility-version", "peer-ca-file", "request-timeout",
	"secure-port", "storage-media-type",
}

// Options describe a server that a test starts.
type Options struct {
	// The flags as the test has set them, and as they are by default: a flag is passed on if its
	// values differ.
	Flags, Defaults []*pflag.FlagSet
	// Extra flags, as `--name=value`. They replace those of the test.
	Extra []string
	// Dir is the folder of certificates.
	Dir string
	// Port is a port of 127.0.0.1 that is free.
	Port int
}

// Start resolves when the server accepts connections. It returns the configuration of a client with
// all rights, and a function that stops the server and waits until it has ended.
func Start(options Options) (*rest.Config, func(), error) {
	args, tokens := options.arguments()
	tokenFile := filepath.Join(options.Dir, "coxswain-tokens.csv")
	if err := os.WriteFile(tokenFile, []byte(tokens), 0o600); err != nil {
		return nil, nil, err
	}
	args = append(args, "--token-auth-file="+tokenFile, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", options.Port), "--cert-dir="+options.Dir)
	output, err := os.OpenFile(os.Getenv(logVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintln(output, "apiserver", strings.Join(args, " "))
	var said bytes.Buffer
	command := exec.Command(os.Getenv(programVariable), append([]string{"apiserver"}, args...)...)
	command.Stdout = io.MultiWriter(output, &said)
	command.Stderr = command.Stdout
	// The server ends with the test, also with one that panics.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait(); output.Close() }()
	stop := func() {
		command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(stopTimeout):
			command.Process.Kill()
			<-ended
		}
	}
	certificate := filepath.Join(options.Dir, "apiserver.crt")
	for deadline := time.Now().Add(startTimeout); !isListening(certificate, options.Port); {
		select {
		case err := <-ended:
			return nil, nil, fmt.Errorf("the API server ended: %w: %s", err, said.String())
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			stop()
			return nil, nil, fmt.Errorf("the API server does not listen: %s", said.String())
		}
	}
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", options.Port),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: certificate, ServerName: serverName(certificate)},
		// As upstream's clients of its own server: not limited. A limit has an error of its own near the
		// end of a test's context.
		QPS: -1,
	}, stop, nil
}

// serverName returns a name that the certificate has, if it is not for 127.0.0.1: a test may announce
// another address.
func serverName(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil || certificates[0].VerifyHostname("127.0.0.1") == nil || len(certificates[0].DNSNames) == 0 {
		return ""
	}
	return certificates[0].DNSNames[0]
}

func isListening(certificate string, port int) bool {
	if _, err := os.Stat(certificate); err != nil {
		return false
	}
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	connection.Close()
	return true
}

// arguments returns the flags, and the content of the file of tokens.
func (o Options) arguments() ([]string, string) {
	defaults := merged("defaults", o.Defaults)
	tokens := token + ",system:apiserver,loopback,system:masters\n"
	var args []string
	flags := merged("flags", o.Flags)
	signingEndpoint := valueOf(flags, "service-account-signing-endpoint")
	flags.VisitAll(func(flag *pflag.Flag) {
		value := flag.Value.String()
		byDefault := defaults.Lookup(flag.Name)
		if slices.Contains(testOnly, flag.Name) || byDefault != nil && byDefault.Value.String() == value {
			return
		}
		// Upstream takes it from the program that signs tokens when it completes the options.
		if flag.Name == "service-account-max-token-expiration" && signingEndpoint != "" {
			return
		}
		if flag.Name == "token-auth-file" {
			data, _ := os.ReadFile(value)
			tokens += string(data)
			return
		}
		name := "--" + flag.Name + "="
		if slices.ContainsFunc(o.Extra, func(extra string) bool { return strings.HasPrefix(extra, name) }) {
			return
		}
		if list, isList := strings.CutPrefix(value, "["); isList {
			value = strings.ReplaceAll(strings.TrimSuffix(list, "]"), " ", ",")
		}
		args = append(args, name+value)
	})
	if o.admitsAnonymous() {
		args = append(args, "--anonymous-auth=true")
	}
	return append(args, o.Extra...), tokens
}

// admitsAnonymous reports whether the flags are as by default for anonymous requests: upstream then
// admits them. A file that says which are admitted excludes the flag.
func (o Options) admitsAnonymous() bool {
	flags := merged("flags", o.Flags)
	if valueOf(flags, "anonymous-auth") != "true" {
		return false
	}
	file := valueOf(flags, "authentication-config")
	if file == "" {
		return true
	}
	data, err := os.ReadFile(file)
	return err == nil && !bytes.Contains(data, []byte("anonymous:"))
}

// valueOf returns an empty text for a flag that the set does not have.
func valueOf(flags *pflag.FlagSet, name string) string {
	if flag := flags.Lookup(name); flag != nil {
		return flag.Value.String()
	}
	return ""
}

func merged(name string, sets []*pflag.FlagSet) *pflag.FlagSet {
	all := pflag.NewFlagSet(name, pflag.PanicOnError)
	for _, set := range sets {
		all.AddFlagSet(set)
	}
	return all
}

// Sets returns the values of a map of flag sets.
func Sets(named map[string]*pflag.FlagSet) []*pflag.FlagSet {
	var sets []*pflag.FlagSet
	for _, set := range named {
		sets = append(sets, set)
	}
	return sets
}

// ExtensionFlags returns the flags of a server that has all kinds, for those of upstream's server of
// custom resources alone. It writes a key for the tokens of service accounts to the folder.
func ExtensionFlags(flags []string, dir string) []string {
	extra := []string{"--authorization-mode=AlwaysAllow", "--service-account-issuer=https://foo.bar.example.com",
		"--service-account-signing-key-file=" + writeKey(dir)}
	for i := 0; i < len(flags); i++ {
		name, _, hasValue := strings.Cut(flags[i], "=")
		switch name {
		case "--authentication-kubeconfig", "--authorization-kubeconfig", "--kubeconfig":
			// It delegates to another server, which does not exist.
			i++
		case "--authentication-skip-lookup", "--storage-media-type":
		default:
			if !hasValue {
				i++
				name += "=" + flags[i]
			} else {
				name = flags[i]
			}
			extra = append(extra, name)
		}
	}
	return extra
}

func writeKey(dir string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "service-accounts.key")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		panic(err)
	}
	return file
}

// SkipIfChanged skips a test which changes a configuration of upstream's Go structures: there is none
// of these in another program. A change that fails since the configuration is empty is one, too.
func SkipIfChanged[Config any](test any, change func(*Config), empty func() *Config) {
	if changes(change, empty) {
		Skip(test, "it changes Go structures of the server")
	}
}

func changes[Config any](change func(*Config), empty func() *Config) (changed bool) {
	defer func() {
		if recover() != nil {
			changed = true
		}
	}()
	config := empty()
	change(config)
	return !reflect.DeepEqual(config, empty())
}

// Skip ends a test that this server cannot run.
func Skip(test any, reason string) {
	test.(interface{ Skip(...any) }).Skip(reason)
}
