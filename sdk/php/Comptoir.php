<?php

declare(strict_types=1);

/**
 * Comptoir in one file: the ten commonest calls and webhook verification. PHP 8.1 or newer, with curl or
 * allow_url_fopen; no dependency.
 */
final class ComptoirError extends \RuntimeException
{
    public function __construct(
        public readonly int $status,
        /** Stable; says what happened. */
        public readonly string $errorCode,
        string $message,
        public readonly ?string $requestId = null,
        public readonly array $details = [],
        public readonly ?string $docs = null,
        /** With which the call was sent. The same call with it is done once: the service keeps it for 48 hours. */
        public readonly ?string $idempotencyKey = null,
        /**
         * The answer to a try was lost, so the call may have been done. Repeat it under $idempotencyKey. The message says
         * nothing of it: shops show it to people who repeat nothing.
         */
        public readonly bool $mayBeDone = false,
    ) {
        parent::__construct($message);
    }
}

/** The webhook must not be believed. Answer 400. */
final class WebhookVerificationError extends \RuntimeException
{
}

final class Comptoir
{
    /** Seconds; curl counts milliseconds in 31 bits. */
    private const LONGEST_TIMEOUT = 2_147_483;

    /** Fields of bodies that are objects in the API document. PHP's arrays do not tell an empty map from a list. */
    private const OBJECTS = [
        'addressProof', 'clientExtensionResults', 'de', 'en', 'es', 'fr', 'goods', 'it', 'metadata', 'passkey',
        'payerInformation', 'refundLimits', 'response', 'settings', 'texts',
    ];

    private const BEFORE_KEY = ['NOT_FOUND', 'VALIDATION_FAILED', 'UNEXPECTED_ANSWER', 'IDEMPOTENCY_IN_PROGRESS'];

    /** When the time of this client is over. */
    private readonly float $until;

    /**
     * @param int $timeout seconds for one attempt, at least 1
     * @param float|null $deadline seconds for everything that this client does, however many calls and attempts. A
     *     page that a person waits for gives a few
     * @throws InvalidArgumentException
     */
    public function __construct(
        private readonly string $baseUrl,
        private readonly string $apiKey,
        private readonly string $apiSecret,
        private readonly int $timeout = 30,
        private readonly int $maxRetries = 3,
        ?float $deadline = null,
    ) {
        if ($timeout < 1) {
            throw new \InvalidArgumentException('timeout must be at least 1 s');
        }
        $this->until = $deadline === null ? INF : self::now() + $deadline;
    }

    /** Seconds that no change of the clock touches. */
    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    /**
     * Any operation of the reference. Retries 429, 502, 503 and lost connections under one Idempotency-Key.
     * @param string|null $idempotencyKey 1 to 255 printable characters of ASCII
     * @return mixed the data; of an answer that is no JSON, a download for example, its bytes
     * @throws InvalidArgumentException
     * @throws ComptoirError with the Idempotency-Key of a POST, under which the same call may be repeated
     */
    public function call(string $method, string $path, array $body = [], ?string $idempotencyKey = null): mixed
    {
        return $this->exchange($method, $path, $body, $idempotencyKey, true);
    }

    /** @param bool $takesFiles otherwise an answer that is no JSON comes from another program, too */
    private function exchange(string $method, string $path, array $body, ?string $idempotencyKey, bool $takesFiles): mixed
    {
        $headers = ["x-api-key: {$this->apiKey}", "x-api-secret: {$this->apiSecret}", 'accept: application/json'];
        $content = null;
        if ($idempotencyKey !== null && preg_match('/^[\x20-\x7e]{1,255}\z/', $idempotencyKey) !== 1) {
            throw new \InvalidArgumentException('idempotencyKey must be 1 to 255 printable characters of ASCII; encode or hash any other');
        }
        $key = $method === 'POST' ? $idempotencyKey ?? bin2hex(random_bytes(16)) : null;
        if ($key !== null) {
            $headers[] = "idempotency-key: $key";
        }
        if ($method === 'POST' || $body !== []) {
            $headers[] = 'content-type: application/json';
            $content = json_encode(self::withObjects($body), JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
        }
        $wasOpen = false;
        for ($attempt = 0; ; $attempt++) {
            $isSent = self::now() < $this->until;
            [$status, $text, $retryAfter, $ignored, $isFile] = $this->send($method, $path, $headers, $content);
            $isFile = $isFile && $takesFiles;
            $answer = $isFile ? null : json_decode($text, true);
            if ($status >= 200 && $status < 300 && ($isFile || (is_array($answer) && array_key_exists('data', $answer)))) {
                if ($ignored !== null) {
                    error_log("Comptoir ignored $ignored: $method $path knows no such name.");
                }
                return $isFile ? $text : $answer['data'];
            }
            // a gateway in front has its own idea of an error
            $error = is_array($answer) && is_array($answer['error'] ?? null) ? $answer['error'] : [];
            $textOf = fn (string $name): ?string => is_string($error[$name] ?? null) ? $error[$name] : null;
            $code = $textOf('code') ?? ($status === 0 ? 'CONNECTION_FAILED' : 'UNEXPECTED_ANSWER');
            $wait = $retryAfter ?? 0.4 * 2 ** $attempt;
            $again = in_array($status, [0, 429, 502, 503], true) || $code === 'IDEMPOTENCY_IN_PROGRESS';
            // the service says itself that it did nothing
            $isUndone = $status === 429 || ($status === 503 && $code === 'BUSY');
            $isOpen = $isSent && !$isUndone && ($status < 400 || $status >= 500 || $code === 'IDEMPOTENCY_IN_PROGRESS');
            // its own word under this key; a proxy's page is none, and other refusals may come before the key is looked up
            $isSettled = in_array($status, [404, 409, 422], true) && !in_array($code, self::BEFORE_KEY, true);
            $wasOpen = $isOpen || ($wasOpen && !$isSettled);
            $isLate = self::now() + $wait >= $this->until;
            if (!$again || $attempt >= $this->maxRetries || $wait > 60 || $isLate) {
                $message = $textOf('message') ?? "$method $path: " . ($status === 0
                    ? 'no answer of Comptoir'
                    : "the answer $status is not one of Comptoir. Check the address.");
                $mayBeDone = $key !== null && $wasOpen;
                $details = is_array($error['details'] ?? null) ? $error['details'] : [];
                $page = $textOf('docs');
                throw new ComptoirError($status, $code, $message, $textOf('requestId'), $details, $page, $key, $mayBeDone);
            }
            usleep((int) ($wait * 1_000_000));
        }
    }

    /** A body, or an object inside one, as json_encode takes it for an object, whatever its names are. */
    private static function withObjects(array $object): object
    {
        foreach ($object as $name => $value) {
            $object[$name] = is_array($value) ? self::inside($name, $value) : $value;
        }
        return (object) $object;
    }

    private static function inside(string|int $name, array $value): object|array
    {
        if (!array_is_list($value) || in_array($name, self::OBJECTS, true)) {
            return self::withObjects($value);
        }
        return array_map(fn ($one) => is_array($one) ? self::inside('', $one) : $one, $value);
    }

    /**
     * @return array{int, string, ?int, ?string, bool} status (0: no whole answer), body, Retry-After in seconds, ignored
     *     names, and whether the body is a file
     */
    private function send(string $method, string $path, array $headers, ?string $content): array
    {
        $time = min((float) $this->timeout, self::LONGEST_TIMEOUT, $this->until - self::now());
        if ($time <= 0) {
            return [0, '', null, null, false];
        }
        $url = rtrim($this->baseUrl, '/') . $path;
        [$text, $lines] = function_exists('curl_init')
            ? self::byCurl($method, $url, $headers, $content, $time)
            : self::byStream($method, $url, $headers, $content, $time);
        $heads = preg_grep('/^HTTP\/\S+ \d{3}/', $lines);
        if (!is_string($text) || !preg_match('/^HTTP\/\S+ (\d{3})/', end($heads) ?: '', $found)) {
            return [0, '', null, null, false];
        }
        // a body that was cut off, or that was not whole within the timeout
        if (preg_grep('/^content-type: *application\/json/i', $lines) !== [] && json_decode($text) === null && $text !== 'null') {
            return [0, '', null, null, false];
        }
        // a web page is of another program; PHP's own streams do not tell whether a body without a length is whole
        $isFile = preg_grep('/^content-type: *(?!application\/json|text\/html)\w/i', $lines) !== []
            && (function_exists('curl_init') || preg_grep('/^content-length: *' . strlen($text) . '$/i', $lines) !== []);
        $retry = array_values(preg_grep('/^retry-after: *\d+$/i', $lines));
        $ignored = array_values(preg_grep('/^comptoir-ignored:/i', $lines));
        return [
            (int) $found[1],
            $text,
            $retry === [] ? null : (int) preg_replace('/\D/', '', $retry[0]),
            $ignored === [] ? null : rawurldecode(trim(substr($ignored[0], strlen('comptoir-ignored:')))),
            $isFile,
        ];
    }

    /**
     * curl counts the whole exchange: a server that sends a byte now and then holds nobody.
     * @return array{mixed, string[]} the body, false if it is not whole, and the lines of the header
     */
    private static function byCurl(string $method, string $url, array $headers, ?string $content, float $time): array
    {
        $lines = [];
        $curl = curl_init($url);
        curl_setopt_array($curl, ($content === null ? [] : [CURLOPT_POSTFIELDS => $content]) + [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => [...$headers, 'expect:'],
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_PROXY => '',
            CURLOPT_TIMEOUT_MS => max(1, (int) ($time * 1000)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$lines): int {
                $lines[] = trim($line);
                return strlen($line);
            },
        ]);
        return [curl_exec($curl), $lines];
    }

    /**
     * PHP's own streams count each read anew: a server that sends a byte now and then holds them.
     * @return array{mixed, string[]} the body, false if it is not whole, and the lines of the header
     */
    private static function byStream(string $method, string $url, array $headers, ?string $content, float $time): array
    {
        $options = ['method' => $method, 'header' => $headers, 'timeout' => $time, 'ignore_errors' => true];
        $options += ['follow_location' => 0, ...($content === null ? [] : ['content' => $content])];
        $text = @file_get_contents($url, false, stream_context_create(['http' => $options]));
        return [$text, $http_response_header ?? []];
    }

    /** @param array $filters lists, true and false, and dates may stand in it */
    private static function query(array $filters): string
    {
        $text = fn (mixed $value) => match (true) {
            is_bool($value) => $value ? 'true' : 'false',
            is_array($value) => implode(',', $value),
            $value instanceof \DateTimeInterface => $value->format(DATE_ATOM),
            default => $value,
        };
        return '?' . http_build_query(array_map($text, $filters));
    }

    /**
     * A part of a path. Without it the path would be another one: that of the whole list.
     * @throws InvalidArgumentException
     */
    private static function segment(string $name, string $value): string
    {
        if (in_array(trim($value), ['', '.', '..'], true)) {
            throw new \InvalidArgumentException("$name is '$value': nothing was sent, because without it the call means something else");
        }
        return rawurlencode($value);
    }

    private function order(string $method, string $path, array $body = [], ?string $key = null): mixed
    {
        return $this->exchange($method, '/api/next/confirm_conversion' . $path, $body, $key, false);
    }

    /** @param array $body amount (decimal text), fromAsset, merchantIdentifier, webhookUrl, alias … */
    public function createOrder(array $body, ?string $idempotencyKey = null): array
    {
        return $this->order('POST', '/request', $body, $idempotencyKey);
    }

    public function getOrder(string $code): array
    {
        return $this->order('GET', '/status/' . self::segment('code', $code));
    }

    /** The newest order with your alias. $companyId: of this company, for credentials that see more than one. */
    public function getOrderByReference(string $reference, ?string $companyId = null): array
    {
        return $this->order('GET', '/status/order/' . self::segment('reference', $reference) . self::query(['companyId' => $companyId]));
    }

    /** All orders that the filters match, page after page: ['status' => ['PAID', 'REFUNDED'], 'from' => '2026-01-01']. */
    public function listOrders(array $filters = []): \Generator
    {
        do {
            $page = $this->order('GET', self::query(['limit' => 100, ...$filters]));
            // not "yield from": the keys of each page would begin at 0 again, and iterator_to_array would keep one page
            foreach ($page['orders'] as $order) {
                yield $order;
            }
            $filters['cursor'] = $page['nextCursor'];
        } while ($page['nextCursor'] !== null);
    }

    public function acceptOrder(string $code, array $body): array
    {
        return $this->order('POST', '/accept/' . self::segment('code', $code), $body);
    }

    public function confirmOrder(string $code): void
    {
        $this->order('POST', '/confirm/' . self::segment('code', $code));
    }

    public function cancelOrder(string $code): void
    {
        $this->order('POST', '/cancel/' . self::segment('code', $code));
    }

    /** @param array $body amount (USDC, decimal text; default: all that is left), reason. Answers refundId. */
    public function refundOrder(string $code, array $body = [], ?string $idempotencyKey = null): array
    {
        return $this->order('POST', '/revert/' . self::segment('code', $code), $body, $idempotencyKey);
    }

    public function getRefund(string $id): array
    {
        return $this->exchange('GET', '/api/next/refunds/' . self::segment('id', $id), [], null, false);
    }

    public function listEvents(?string $after = null, int $limit = 100): array
    {
        return $this->exchange('GET', '/api/next/events' . self::query(['after' => $after, 'limit' => $limit]), [], null, false);
    }

    /**
     * The body of a genuine webhook. Both signatures are checked where they are there.
     * @param string $rawBody file_get_contents('php://input'), before any parser
     * @param array $headers name to value, for example getallheaders()
     * @param bool $testEvents false: the 'event' of a test event, which no one paid, is 'test'. True only where nothing is shipped
     */
    public static function verifyWebhook(string $rawBody, array $headers, string $secret, int $tolerance = 300, bool $testEvents = false): array
    {
        // with an empty key, anyone could sign
        $key = preg_match('/^whsec_([A-Za-z0-9+\/]{22,}={0,2})\z/', $secret, $text) === 1 ? base64_decode($text[1], true) : false;
        if ($key === false) {
            throw new WebhookVerificationError('the secret is not one of Comptoir: whsec_ and base64');
        }
        $given = array_change_key_case($headers);
        $claims = [];
        if (($given['service-signature'] ?? '') !== '') {
            preg_match('/(?:^|,)\s*t=(\d{1,12})(?:,|$)/', $given['service-signature'], $time);
            preg_match_all('/(?:^|,)\s*v1=([0-9a-f]{64})(?=,|$)/', $given['service-signature'], $found);
            $at = $time[1] ?? '';
            $claims[] = [$at, hash_hmac('sha256', "$at.$rawBody", $secret), $found[1]];
        }
        if (($given['webhook-signature'] ?? '') !== '') {
            $at = $given['webhook-timestamp'] ?? '';
            $signed = ($given['webhook-id'] ?? '') . ".$at.$rawBody";
            $found = array_map(fn ($part) => substr($part, 3), preg_grep('/^v1,/', explode(' ', $given['webhook-signature'])));
            $claims[] = [$at, base64_encode(hash_hmac('sha256', $signed, $key, true)), $found];
        }
        if ($claims === []) {
            throw new WebhookVerificationError('no signature');
        }
        foreach ($claims as [$at, $expected, $signatures]) {
            $isSigned = false;
            foreach ($signatures as $signature) {
                $isSigned = hash_equals($expected, $signature) || $isSigned;
            }
            if (!$isSigned) {
                throw new WebhookVerificationError('signed by another secret, or changed on the way');
            }
            if (!ctype_digit($at) || abs(time() - (int) $at) > $tolerance) {
                throw new WebhookVerificationError("signed more than $tolerance s from now");
            }
        }
        $event = json_decode($rawBody, true, 32, JSON_THROW_ON_ERROR);
        if (!$testEvents && ($event['test'] ?? false) === true) {
            $event['event'] = 'test';
        }
        return $event;
    }
}
