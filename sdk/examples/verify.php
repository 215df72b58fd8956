<?php
/** True if the bytes were signed with this secret within the tolerance. */
function verifyWebhook(string $rawBody, ?string $header, string $secret, int $toleranceSeconds = 300): bool
{
    $time = null;
    $signatures = [];
    foreach (explode(',', $header ?? '') as $part) {
        [$name, $value] = array_pad(explode('=', trim($part), 2), 2, '');
        if ($name === 't' && ctype_digit($value)) {
            $time = $value;
        }
        if ($name === 'v1') {
            $signatures[] = $value;
        }
    }
    // with an empty secret, anyone could sign
    if ($time === null || !str_starts_with($secret, 'whsec_') || strlen($secret) < 30) {
        return false;
    }
    $expected = hash_hmac('sha256', $time . '.' . $rawBody, $secret);
    $isSigned = false;
    foreach ($signatures as $signature) {
        $isSigned = hash_equals($expected, $signature) || $isSigned;
    }
    return $isSigned && abs(time() - (int) $time) <= $toleranceSeconds;
}

// On a web server: $rawBody = file_get_contents('php://input'); $header = $_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null;
// ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… php verify.php < body
if (PHP_SAPI === 'cli') {
    $body = file_get_contents('php://stdin');
    $good = verifyWebhook($body, getenv('SIGNATURE') ?: null, (string) getenv('WEBHOOK_SECRET'));
    echo $good ? "verified\n" : "refused\n";
}
