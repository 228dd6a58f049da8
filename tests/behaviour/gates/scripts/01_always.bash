echo '{"wakeAgent": true}'
